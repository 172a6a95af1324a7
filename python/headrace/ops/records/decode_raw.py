"""Decoding numbers from bytes.

Source: `tf.decode_raw` in TensorFlow 1.15.
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
from headrace.ops.framework.batching import rows_of_first

__all__ = ["decode_raw"]

_RAW_TYPES: Final = (
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint16, dtypes.uint8),
    *(dtypes.int16, dtypes.int8, dtypes.int64, dtypes.complex64, dtypes.complex128, dtypes.bool),
)


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    name: str | None = None,
) -> Tensor:
    """Reads numbers from the bytes of strings.

    Args:
        input_bytes: Strings of equal length, of any shape.
        out_type: The type of the numbers: float16/32/64, int8/16/32/64, uint8/16, bool or
            complex64/128. A big-endian NumPy type, such as `np.dtype(">i2")`, also sets the byte
            order.
        little_endian: The byte order of the numbers.
        name: Name of the operation.

    Returns:
        The numbers along a new last axis. Its size is the length of a string divided by the size of
        a number.

    Raises:
        InvalidArgumentError: At run time, if the strings differ in length, or the length is not a
            multiple of the size of a number.
        TypeError: If the type is not supported.

    Examples:
        >>> decode = hr.native(lambda one: {"x": hr.ops.decode_raw(one["record"], np.uint8)})
        >>> decode({"record": bytes([1, 2, 3])})
        {'x': array([1, 2, 3], dtype=uint8)}
    """
    if isinstance(out_type, np.dtype) and out_type.byteorder == ">":
        little_endian = False
    dtype = type_attr("out_type", out_type, _RAW_TYPES)
    attrs = {"out_type": dtype, "little_endian": bool_attr("little_endian", little_endian)}

    def infer(strings: Tensor) -> Outputs:
        return [(dtype, strings.shape.concatenate(TensorShape([None])))]

    inputs = [Input("bytes", input_bytes, dtypes.string)]
    return apply_op("DecodeRaw", inputs, infer, name=name, attrs=attrs).outputs[0]


define("DecodeRaw", batch_rule=rows_of_first)
