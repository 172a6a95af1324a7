"""Decodes `Example` messages from JSON.

Source: `tf.decode_json_example` in TensorFlow 1.15.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.inference import like
from headrace.ops.framework.kernel import Array, fail
from headrace.protos import Example

__all__ = ["decode_json_example"]

_SHOWN_BYTES: Final = 256
_LARGEST_EXACT: Final = 2**53
_LARGEST_FLOAT: Final = float(np.finfo(np.float32).max)


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Converts `Example`s from JSON to serialized protocol buffers.

    Args:
        json_examples: Strings of any shape. Each is the JSON of one `Example`, in protocol buffers'
            JSON format: `{"features": {"feature": {"a": {"int64List": {"value": [1]}}}}}`.
        name: Name of the operation.

    Returns:
        Strings of the same shape, for `parse_example`.

    Raises:
        InvalidArgumentError: At run time, if a string is not JSON in this format.
    """
    inputs = [Input("json_examples", json_examples, dtypes.string)]
    op = apply_op("DecodeJSONExample", inputs, like, name=name, kernel=_decode_all)
    return op.outputs[0]


def _decode_all(texts: Array) -> Array:
    decoded = np.empty(texts.size, dtype=object)
    where = " in element {}" if texts.ndim else ""
    decoded[:] = [
        _decode(text, where.format(index)) for index, text in enumerate(texts.ravel().tolist())
    ]
    return decoded.reshape(texts.shape)


def _decode(text: bytes, where: str) -> bytes:
    try:
        document = json.loads(text.decode(), object_pairs_hook=_without_doubles)
        if document is None:
            raise ValueError("null is not an object")
        serialized: bytes = _example(document).SerializeToString(deterministic=True)
    except (ValueError, RecursionError) as error:
        shown = text[:_SHOWN_BYTES].decode(errors="replace")
        dots = "..." if len(text) > _SHOWN_BYTES else ""
        fail(
            f"Error while parsing JSON: {error}, got '{shown}'{dots}{where}. Pass one object "
            "with 'features' for each Example."
        )
    return serialized


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"an object repeats a name: {[name for name, _ in pairs]}")
    return members


def _example(document: object) -> Example:
    example = Example()
    features = _member(_member(document, "features"), "feature")
    for name, lists in _object(features).items():
        feature = example.features.feature[name]
        given_lists = {key: values for key, values in _object(lists).items() if values is not None}
        if len(given_lists) > 1 or given_lists.keys() - _KINDS.keys():
            raise ValueError(f"a feature has {[*given_lists]}, expected one of {', '.join(_KINDS)}")
        for key, values in given_lists.items():
            read, value_list = _READERS[_KINDS[key]], getattr(feature, _KINDS[key])
            value_list.SetInParent()
            value_list.value.extend(read(value) for value in _flat(_member(values, "value")))
    return example


def _object(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not an object")
    return value


def _member(value: object, name: str) -> Any:
    """Returns an object's only member. It must have this name."""
    members = _object(value)
    if members.keys() - {name}:
        raise ValueError(f"an object has the members {sorted(members)}, expected only {name!r}")
    return members.get(name)


def _flat(value: object) -> Iterator[Any]:
    """Yields the elements of a nested list. A single value counts as a list of one."""
    if isinstance(value, list):
        for item in value:
            yield from _flat(item) if isinstance(item, list) else (item,)
    elif value is not None:
        yield value


def _read_int(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value, re.ASCII):
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT:
        value = int(value)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not an integer")
    return value


def _read_float(value: object) -> float:
    if isinstance(value, str) and value.isascii() and "_" not in value:
        value = float(value)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    if _LARGEST_FLOAT < abs(value) < math.inf:
        raise ValueError(f"{value!r} is out of range")
    return value


def _read_bytes(value: object) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


_KINDS: Final = {
    name: kind
    for kind in ("bytes_list", "float_list", "int64_list")
    for name in (kind, kind.replace("_l", "L"))
}
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "bytes_list": _read_bytes,
    "float_list": _read_float,
    "int64_list": _read_int,
}


define("DecodeJSONExample")
