"""Arguments that have two names."""

from typing import Any

__all__ = ["only_one"]


def only_one(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """Returns the value of a parameter that has two names.

    Args:
        new_name: The name.
        new: What was given by it; None for nothing.
        old_name: The other name.
        old: What was given by that one.

    Raises:
        ValueError: If both were given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old if new is None else new
