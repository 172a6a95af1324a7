"""Arguments that have an old and a new name."""

from typing import Any

__all__ = ["only_one"]


def only_one(new_name: str, new: object, old_name: str, old: object) -> Any:
    """Returns the value of a parameter that has two names.

    Args:
        new_name: The current name.
        new: The argument for this name. None if it was not passed.
        old_name: The old name.
        old: The argument for the old name. None if it was not passed.

    Raises:
        ValueError: If both were passed.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old if new is None else new
