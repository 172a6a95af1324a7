"""The values of an `Example`'s features."""

from __future__ import annotations

from typing import Any

from headrace.pipeline.writing.values import Values
from headrace.protos import Example, SequenceExample
from headrace.protos.library import DecodeError

__all__ = ["sequences_of_record", "values_of_record"]


def values_of_record(record: bytes) -> dict[str, Values] | None:
    """Returns the features of a serialized `Example`, or None if the bytes are not an `Example`."""
    try:
        example = Example.FromString(record)
    except DecodeError:
        return None
    features = example.features.feature
    if record and not features and not example.HasField("features"):
        return None
    return {name: _values(features[name]) for name in sorted(features)}


def sequences_of_record(record: bytes) -> dict[str, Values] | None:
    """Returns the joined feature lists of a serialized `SequenceExample`, or None."""
    try:
        lists = SequenceExample.FromString(record).feature_lists.feature_list
    except DecodeError:
        return None
    sequences = {}
    for name in sorted(lists):
        steps = [_values(step) for step in lists[name].feature]
        kind = next((step.kind for step in steps if step.kind), None)
        sequences[name] = Values(kind, [item for step in steps for item in step.items])
    return sequences or None


def _values(feature: Any) -> Values:
    match feature.WhichOneof("kind"):
        case "bytes_list":
            return Values("bytes", feature.bytes_list.value)
        case "float_list":
            return Values("float", feature.float_list.value)
        case "int64_list":
            return Values("int64", feature.int64_list.value)
    return Values(None, ())
