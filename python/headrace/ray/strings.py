"""Strings in the object store: Arrow buffers that are not copied."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from headrace.pipeline.pipeline import Pipeline

__all__ = ["as_asked", "with_buffers"]


def with_buffers(pipe: Pipeline) -> Pipeline:
    """Returns a pipeline whose strings are Arrow arrays, if pyarrow is installed."""
    return pipe.options(strings="arrow") if find_spec("pyarrow") else pipe


def as_asked(batch: dict[str, Any], has_arrow_strings: bool, is_copied: bool) -> dict[str, Any]:
    """Returns a batch with strings in the requested form. Copies arrays on request."""
    return {name: _component(value, has_arrow_strings, is_copied) for name, value in batch.items()}


def _component(value: Any, has_arrow_strings: bool, is_copied: bool) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy() if is_copied and not value.flags.writeable else value
    if isinstance(value, list):
        return [
            _component(item, has_arrow_strings, is_copied) if isinstance(item, np.ndarray) else item
            for item in value
        ]
    if has_arrow_strings:
        return value
    strings = np.empty(len(value), object)
    strings[:] = value.to_pylist()
    return strings
