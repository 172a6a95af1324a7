"""The features of `parse`, in headrace's types or those of TensorFlow 1."""

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


def as_feature(name: str, given: Any) -> Feature | Ragged:
    """Returns a feature that an `Example` can hold.

    Args:
        name: Its name, for messages.
        given: A type, a `Feature`, a `Ragged`, or one of `FixedLenFeature`, `VarLenFeature` and
            `FixedLenSequenceFeature` of scalars.

    Raises:
        TypeError: If it is none of these, or of a type that an `Example` cannot hold.
        ValueError: If its shape is unknown.
    """
    chosen = _chosen(name, given)
    dtype = element_type("parse", chosen.dtype)
    if not isinstance(dtype, type) and dtype.name not in ("int64", "float32"):
        raise TypeError(
            f"parse: the feature {name!r} is {dtype.name}, but an Example holds int64, float32 and "
            "bytes. Parse it as one of those and convert it in map."
        )
    return chosen


def _chosen(name: str, given: Any) -> Feature | Ragged:
    match given:
        case Feature() | Ragged():
            return given
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
                    f"parse: the feature {name!r} is {given}, expected rows of shape () and "
                    "allow_missing=True, which are a list. Parse Ragged(dtype) and reshape it in "
                    "map."
                )
            return Ragged(_type(dtype))
        case SparseFeature(index_key=indices, value_key=values):
            raise TypeError(
                f"parse: the feature {name!r} is a SparseFeature, but a component is an array or a "
                f"list. Parse {indices!r} and {values!r} as Ragged and put them together in map."
            )
    return Feature(given)


def _type(dtype: Any) -> Any:
    """Returns the type of a component that represents a type of TensorFlow."""
    found: DType = as_dtype(dtype)
    return bytes if found == string else np.dtype(found.as_numpy_dtype)


def _default(kind: Any, given: Any) -> Any:
    if given is None or kind is not bytes:
        return given
    texts = np.asarray(given, object)
    encoded = [text.encode() if isinstance(text, str) else text for text in texts.ravel()]
    strings = np.empty(texts.size, object)
    strings[:] = encoded
    return strings.reshape(texts.shape) if texts.shape else encoded[0]


def _dims(name: str, shape: Any) -> tuple[int, ...]:
    dims = TensorShape(shape)
    if not dims.is_fully_defined():
        raise ValueError(
            f"parse: the feature {name!r} has the shape {dims}, expected known dimensions. Use "
            "Ragged for a list of any length."
        )
    return tuple(size for size in dims.as_list() if size is not None)
