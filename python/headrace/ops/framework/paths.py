"""Paths where tensors of file names are taken: TensorFlow takes strings only."""

import os
from typing import Any

__all__ = ["with_paths_as_strings"]


def with_paths_as_strings(value: Any) -> Any:
    """Returns a value with what is a path, such as a `pathlib.Path`, as a string.

    Args:
        value: A path, or lists and tuples of them; anything else stays as it is.
    """
    if isinstance(value, os.PathLike):
        return os.fsencode(value)
    if isinstance(value, (list, tuple)) and any(map(_may_hold_paths, value)):
        return [with_paths_as_strings(item) for item in value]
    return value


def _may_hold_paths(item: Any) -> bool:
    return isinstance(item, (os.PathLike, list, tuple))
