"""Arguments with an old and a new name."""

from typing import Any

__all__ = ["only_one"]


def only_one(new_name: str, new: object, old_name: str, old: object) -> Any:
    """Returns the value of a parameter that has two names.

    Args:
        new_name: Its name.
        new: The argument of that name; None if it was not given.
        old_name: Its old name.
        old: The argument of that name; None if it was not given.

    Raises:
        ValueError: If both were given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old if new is None else new
