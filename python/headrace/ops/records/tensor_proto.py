"""Serializing tensors, in TensorFlow's own format.

Source: `tf.parse_tensor` and `tf.serialize_tensor` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Final

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.elementwise import COMPLEX, FLOATS, INTEGERS

__all__ = ["parse_tensor", "serialize_tensor"]

_TYPES: Final[tuple[DType, ...]] = (*FLOATS, *INTEGERS, *COMPLEX, dtypes.bool, dtypes.string)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Parses a tensor that was serialized by `serialize_tensor`.

    Args:
        serialized: A scalar string, the bytes of a `TensorProto`.
        out_type: The type of the tensor.
        name: Name of the operation.

    Returns:
        The tensor, of unknown static shape.

    Raises:
        InvalidArgumentError: At run time, if the bytes are not a tensor of this type.
        TypeError: If the type does not exist.
    """
    dtype = type_attr("out_type", out_type, _TYPES)
    inputs = [Input("serialized", serialized, dtypes.string)]
    attrs = {"out_type": dtype}
    outputs = [(dtype, unknown_shape())]
    return apply_op("ParseTensor", inputs, lambda _: outputs, name=name, attrs=attrs).outputs[0]


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Serializes a tensor to a `TensorProto`, as a scalar string.

    Args:
        tensor: The tensor.
        name: Name of the operation.
    """
    inputs = [Input("tensor", tensor)]
    outputs = [(dtypes.string, TensorShape([]))]
    return apply_op("SerializeTensor", inputs, lambda _: outputs, name=name).outputs[0]


define("ParseTensor")
define("SerializeTensor")
