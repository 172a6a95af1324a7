"""Component values in a form that can be written to files."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from headrace.core.errors import InvalidArgumentError

__all__ = ["Row", "Values", "values_of_example"]


class Values(NamedTuple):
    """The values of one component or feature.

    Attributes:
        kind: The name of their type. For features, it is "bytes", "float" or "int64", or None if
            there are no values.
        items: The values as a flat sequence.
        shape: The shape of the values, or None for a list.
    """

    kind: str | None
    items: Sequence[Any]
    shape: tuple[int, ...] | None = None


# The values of an example, by component.
Row: TypeAlias = Mapping[str, Values]


def values_of_example(example: Mapping[str, Any]) -> dict[str, Values]:
    """Returns the values of all components of an example.

    Raises:
        InvalidArgumentError: If a value is a JSON object, a list of lists or a time. These cannot
            be written.
    """
    for name, value in example.items():
        is_time = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "mM"
        if is_time or value is None or isinstance(value, (dict, list)):
            raise InvalidArgumentError(
                None,
                None,
                f"the component {name!r} is {type(value).__name__}, expected numbers, strings, or "
                "arrays of them. Convert it in map, for example with json.dumps or astype, or "
                "drop it with select.",
            )
    return {name: _values_of_component(value) for name, value in example.items()}


def _values_of_component(value: Any) -> Values:
    if isinstance(value, bytes):
        return Values("bytes", [value], ())
    if isinstance(value, str):
        return Values("str", [value], ())
    if isinstance(value, np.generic):
        return Values(_name_of(value.dtype), (value.item(),), ())
    array = np.asarray(value)
    if array.dtype == object:
        kind = "str" if array.size and isinstance(array.flat[0], str) else "bytes"
        return Values(kind, array.ravel().tolist(), array.shape)
    return Values(_name_of(array.dtype), array.ravel().tolist(), array.shape)


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    """Returns a NumPy type's name. It is cached, because NumPy is slow to compute it."""
    return dtype.name
