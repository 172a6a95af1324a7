"""Decodes numbers from strings of different lengths.

Source: `tf.compat.v2.io.decode_raw` in TensorFlow 1.15, with `fixed_length`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr, type_attr
from headrace.ops.framework.folding import constant_value
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["decode_padded_raw"]

_TYPES: Final = (
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint16, dtypes.uint8),
    *(dtypes.int16, dtypes.int8, dtypes.int64),
)


def decode_padded_raw(
    input_bytes: TensorLike,
    fixed_length: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    name: str | None = None,
) -> Tensor:
    """Decodes numbers from the first bytes of strings. Shorter strings are padded with zeros.

    Args:
        input_bytes: Strings of any lengths and any shape.
        fixed_length: The number of bytes to decode from each string, a scalar int32.
        out_type: The type of the numbers: float16/32/64, int8/16/32/64, uint8/16.
        little_endian: Whether the bytes of a number are in little-endian order.
        name: Name of the operation.

    Returns:
        The numbers, in a new last dimension: shape `input_bytes.shape + [fixed_length / size]`.

    Raises:
        InvalidArgumentError: At run time, if the length is not a positive multiple of the size of a
            number.
        TypeError: If the type does not exist.
        ValueError: If the length is known and not a multiple of the size of a number.
    """
    dtype = type_attr("out_type", out_type, _TYPES)
    is_little = bool_attr("little_endian", little_endian)
    stored = np.dtype(dtype.as_numpy_dtype).newbyteorder("<" if is_little else ">")

    def infer(strings: Tensor, length: Tensor) -> Outputs:
        check_rank(length.shape, 0)
        static = constant_value(length)
        return [(dtype, strings.shape.concatenate(TensorShape([_count(static, stored)])))]

    def kernel(strings: Array, length: Array) -> Array:
        size = int(length)
        if size <= 0:
            fail(f"fixed_length ({size}) must be greater than zero")
        if size % stored.itemsize:
            fail(
                f"fixed_length ({size}) must be a multiple of the size of out_type "
                f"({stored.itemsize})"
            )
        parts = [bytes(item[:size]).ljust(size, b"\0") for item in strings.flat]
        numbers = np.frombuffer(b"".join(parts), stored).astype(dtype.as_numpy_dtype)
        return numbers.reshape(*strings.shape, size // stored.itemsize)

    attrs = {"out_type": dtype, "little_endian": is_little}
    inputs = [
        Input("input_bytes", input_bytes, dtypes.string),
        Input("fixed_length", fixed_length, dtypes.int32),
    ]
    op = apply_op("DecodePaddedRaw", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _count(length: object, stored: np.dtype[np.generic]) -> int | None:
    if length is None:
        return None
    size = int(np.asarray(length))
    if size < 0:
        raise ShapeConflict(
            f"Dimension size, given by scalar input 1, must be non-negative but is {size}"
        )
    if size % stored.itemsize:
        raise ShapeConflict(
            f"Dimension size must be evenly divisible by {stored.itemsize} but is {size}"
        )
    return size // stored.itemsize


define("DecodePaddedRaw")
