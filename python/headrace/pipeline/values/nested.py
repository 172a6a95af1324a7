"""Lists of lists in examples, and lists of arrays in batches."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.core import engine
from headrace.pipeline.values.types import Spec, carried, delivered, engine_code

__all__ = ["NestedList", "nested_column", "nested_value"]


class NestedList(list[Any]):
    """Nested lists of arrays: an example's list of lists, or a batch's list of arrays.

    Attributes:
        spec: The component.
    """

    def __init__(self, values: Iterable[Any], spec: Spec) -> None:
        super().__init__(values)
        self.spec = spec

    def __reduce__(self) -> tuple[Any, ...]:
        return NestedList, (list(self), self.spec)


def nested_value(value: Any, spec: Spec, is_given: bool = False) -> NestedList:
    """Converts a value to nested lists of arrays.

    Args:
        value: Nested lists of arrays. Strings are `bytes` objects.
        spec: The component.
        is_given: Whether the result is for the user. Strings are then `str`, and times have a time
            dtype.

    Raises:
        TypeError: If the value has the wrong type.
        ValueError: If the value has the wrong number of axes.
    """
    shape = spec.shape or ()
    return NestedList(_lists(value, spec, len(shape), is_given), spec)


def nested_column(rows: Sequence[Any], spec: Spec) -> engine.Column:
    """Returns the column for several results of `nested_value`."""
    lists, ends = list(rows), []
    for _ in range(len(spec.shape or ()) - 1):
        ends.append(_ends(lists))
        lists = [inner for outer in lists for inner in outer]
    is_strings = isinstance(spec.dtype, type)
    dtype: Any = object if is_strings else spec.dtype
    values = np.concatenate([np.empty(0, dtype), *lists]).astype(dtype, copy=False)
    column = engine.Column.ragged(carried(values), engine_code(spec.dtype), _ends(lists))
    for outer in reversed(ends):
        column = engine.Column.lists(column, outer)
    return column


def _ends(lists: Sequence[Any]) -> Any:
    return np.cumsum([len(items) for items in lists], dtype=np.int64)


def _lists(value: Any, spec: Spec, ndim: int, is_given: bool) -> list[Any]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise ValueError(
            f"got {type(value).__name__}, expected lists with {len(spec.shape or ())} axes."
        )
    if ndim > 1:
        return [
            _array(item, spec, is_given) if ndim == 2 else _lists(item, spec, ndim - 1, is_given)
            for item in value
        ]
    return list(value)


def _array(value: Any, spec: Spec, is_given: bool) -> Any:
    if isinstance(spec.dtype, type):
        strings = np.empty(len(value), object)
        elements = [_string(item, spec.dtype is str and is_given) for item in value]
        strings[:] = elements
        return strings
    # The function may reuse this array for its next result.
    array = np.asarray(value) if is_given else np.array(value)
    if is_given:
        array.flags.writeable = False
        return delivered(array, spec) if array.dtype != spec.dtype else array
    if array.size == 0:
        array = array.astype(spec.dtype)
    if array.dtype != spec.dtype or array.ndim != 1:
        raise TypeError(f"an inner list is {array.dtype} of shape {array.shape}, expected {spec}.")
    return array


def _string(item: Any, is_text: bool) -> Any:
    if is_text:
        return item.decode() if isinstance(item, bytes) else item
    return item.encode() if isinstance(item, str) else item
