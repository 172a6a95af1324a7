"""The features of `parse`, as headrace's or TensorFlow 1's types."""

from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype, string
from headrace.core.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
)
from headrace.core.shapes import TensorShape
from headrace.pipeline.values.types import Feature, Ragged, element_type

__all__ = ["as_feature"]


def as_feature(name: str, value: Any) -> Feature | Ragged:
    """Returns a feature that an `Example` can hold.

    Args:
        name: The feature's name, for messages.
        value: A type, a `Feature`, a `Ragged`, a `FixedLenFeature`, a `VarLenFeature`, or a
            `FixedLenSequenceFeature` of scalars.

    Raises:
        TypeError: If the value is none of these, or an `Example` cannot hold its type.
        ValueError: If its shape is unknown.
    """
    chosen = _chosen(name, value)
    dtype = element_type("parse", chosen.dtype)
    if not isinstance(dtype, type) and dtype.name not in ("int64", "float32"):
        raise TypeError(
            f"parse: the feature {name!r} is {dtype.name}, but an Example stores only int64, "
            "float32 and bytes. Parse it as one of those, and convert it in map."
        )
    return chosen


def _chosen(name: str, value: Any) -> Feature | Ragged:
    match value:
        case Feature() | Ragged():
            return value
        case FixedLenFeature(shape=shape, dtype=dtype, default_value=default):
            kind = _type(dtype)
            return Feature(kind, _dims(name, shape), _default(kind, default))
        case VarLenFeature(dtype=dtype):
            return Ragged(_type(dtype))
        case FixedLenSequenceFeature(
            shape=shape, dtype=dtype, allow_missing=allow, default_value=_
        ):
            if _dims(name, shape) != () or not allow:
                raise ValueError(
                    f"parse: the feature {name!r} is {value}, but only shape () with "
                    "allow_missing=True is supported, which is a list. Parse Ragged(dtype), and "
                    "reshape it in map."
                )
            return Ragged(_type(dtype))
        case SparseFeature(index_key=indices, value_key=values):
            raise TypeError(
                f"parse: the feature {name!r} is a SparseFeature, but a component must be an "
                f"array or a list. Parse {indices!r} and {values!r} as Ragged, and combine them "
                "in map."
            )
    return Feature(value)


def _type(dtype: Any) -> Any:
    """Returns the component type for a TensorFlow type."""
    element: DType = as_dtype(dtype)
    return bytes if element == string else np.dtype(element.as_numpy_dtype)


def _default(kind: Any, value: Any) -> Any:
    if value is None or kind is not bytes:
        return value
    texts = np.asarray(value, object)
    encoded = [text.encode() if isinstance(text, str) else text for text in texts.ravel()]
    strings = np.empty(texts.size, object)
    strings[:] = encoded
    return strings.reshape(texts.shape) if texts.shape else encoded[0]


def _dims(name: str, shape: Any) -> tuple[int, ...]:
    dims = TensorShape(shape)
    if not dims.is_fully_defined():
        raise ValueError(
            f"parse: the feature {name!r} has the shape {dims}, but all dimensions must be known. "
            "Use Ragged for a list whose length varies."
        )
    return tuple(size for size in dims.as_list() if size is not None)
