"""Tensors as protocol buffers: `tf.make_tensor_proto` and `tf.make_ndarray` in TensorFlow 1.15."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import TensorShape
from headrace.graph import TensorLike
from headrace.graph.node_defs import array_of, message_of
from headrace.ops.framework.values import make_array
from headrace.protos import TensorProto

__all__ = ["make_ndarray", "make_tensor_proto"]


def make_tensor_proto(
    values: TensorLike | TensorProto,
    dtype: DTypeLike | None = None,
    shape: Iterable[SupportsIndex] | TensorShape | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """Converts a value to a message.

    Args:
        values: A number, bool, string, nested lists of these, or an array. A message is returned
            unchanged.
        dtype: The type. By default, it is inferred as in `tf.constant`.
        shape: The shape. Defaults to the shape of the value. If there are too few elements, the
            last one is repeated.
        verify_shape: Whether the value must already have `shape`.
        allow_broadcast: Whether a single element is broadcast to `shape`. If True, any other value
            must already have `shape`.

    Raises:
        TypeError: If an element cannot be converted to the type, or `verify_shape` is True and the
            shapes differ.
        ValueError: If the value is None or ragged, has more elements than `shape`, or both
            `verify_shape` and `allow_broadcast` are given.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, TensorProto):
        return values
    array, _ = make_array(values, None if dtype is None else as_dtype(dtype))
    if shape is None:
        return message_of(array)
    items: Any = shape.as_list() if isinstance(shape, TensorShape) else shape
    sizes = [int(size) for size in items]
    if verify_shape and array.shape != tuple(sizes):
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
    if allow_broadcast and array.shape not in ((), (1,), tuple(sizes)):
        raise ValueError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
    if array.size > math.prod(sizes):
        raise ValueError(
            f"Too many elements provided. Needed at most {math.prod(sizes)}, but received "
            f"{array.size}"
        )
    return message_of(array, sizes)


def make_ndarray(tensor: TensorProto) -> npt.NDArray[Any]:
    """Returns the array in a message. Strings become an object array of bytes.

    Raises:
        TypeError: If the argument is not a tensor message, or its type does not exist.
        ValueError: If the message has more elements than its shape allows.
    """
    if not isinstance(tensor, TensorProto):
        raise TypeError(f"make_ndarray: got {tensor!r}, expected a TensorProto.")
    return np.array(array_of(tensor))
