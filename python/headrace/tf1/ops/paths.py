"""Converts paths to tensors of file names. In TensorFlow, file names must be strings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias, cast

from headrace.graph import TensorLike

__all__ = ["FileNames", "with_paths_as_strings"]

# A tensor of file names, or a value that can be converted to one.
FileNames: TypeAlias = "TensorLike | os.PathLike[str] | Sequence[FileNames]"


def with_paths_as_strings(value: FileNames) -> TensorLike:
    """Converts all paths in a value, such as `pathlib.Path` objects, to strings.

    Args:
        value: A path, or nested lists and tuples of paths. Other values are returned unchanged.
    """
    if isinstance(value, os.PathLike):
        return os.fsencode(value)
    if isinstance(value, (list, tuple)) and any(map(_may_hold_paths, value)):
        return [with_paths_as_strings(item) for item in value]
    return cast("TensorLike", value)


def _may_hold_paths(item: object) -> bool:
    return isinstance(item, (os.PathLike, list, tuple))
