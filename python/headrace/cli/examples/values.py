"""The values of an `Example`'s features, and of an example of a pipeline."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.protos import Example, SequenceExample
from headrace.protos.library import DecodeError

__all__ = ["Values", "sequences_of_record", "values_of_example", "values_of_record"]


class Values(NamedTuple):
    """The values of one feature.

    Attributes:
        kind: "bytes", "float" or "int64"; None for a feature without any. For components of
            pipelines the name of their type.
        items: The values, one after the other.
        shape: The shape of the values; None for a list.
    """

    kind: str | None
    items: Sequence[Any]
    shape: tuple[int, ...] | None = None


def values_of_record(record: bytes) -> dict[str, Values] | None:
    """Returns the features of a serialized `Example`; None if it is none."""
    try:
        example = Example.FromString(record)
    except DecodeError:
        return None
    features = example.features.feature
    if record and not features and not example.HasField("features"):
        return None
    return {name: _values(features[name]) for name in sorted(features)}


def sequences_of_record(record: bytes) -> dict[str, Values] | None:
    """Returns the feature lists of a serialized `SequenceExample`, joined; None if it has none."""
    try:
        lists = SequenceExample.FromString(record).feature_lists.feature_list
    except DecodeError:
        return None
    found = {}
    for name in sorted(lists):
        steps = [_values(step) for step in lists[name].feature]
        kind = next((step.kind for step in steps if step.kind), None)
        found[name] = Values(kind, [item for step in steps for item in step.items])
    return found or None


def _values(feature: Any) -> Values:
    match feature.WhichOneof("kind"):
        case "bytes_list":
            return Values("bytes", feature.bytes_list.value)
        case "float_list":
            return Values("float", feature.float_list.value)
        case "int64_list":
            return Values("int64", feature.int64_list.value)
    return Values(None, ())


def _values_of_component(value: Any) -> Values:
    """Returns the values of a component of an example, as a pipeline gives it."""
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
    return Values(array.dtype.name, array.ravel().tolist(), array.shape)


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    """Returns the name of a type of NumPy's, which is dear to find out."""
    return dtype.name


def values_of_example(example: Mapping[str, Any]) -> dict[str, Values]:
    """Returns the values of all components of an example."""
    return {name: _values_of_component(value) for name, value in example.items()}
