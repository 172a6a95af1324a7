"""The shape, number of elements and rank of a tensor, as tensors.

If the static shape determines the result, it is a constant.

Source: `tf.shape`, `tf.size` and `tf.rank` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import TensorShape, scalar, vector
from headrace.graph import Operation, StaticValues, Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.kernel import Array, by_either
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["rank", "shape", "size"]


def shape(
    input: TensorLike | SparseTensor, out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Returns the shape of a tensor as an integer vector.

    Args:
        input: A tensor, dense or sparse.
        out_type: int32 or int64.
        name: Name of the operation.
    """
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor):
            return cast(input.dense_shape, out_type)
        tensor = convert_to_tensor(input)
        if tensor.shape.is_fully_defined():
            return constant(tensor.shape, out_type, name=scope)
        return _measure("Shape", tensor, scope, out_type, lambda x: x.shape)


def size(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """Returns the number of elements in a tensor as a scalar.

    Args:
        input: A tensor.
        out_type: int32 or int64.
        name: Name of the operation.
    """
    with name_scope(name, "Size", [input]) as scope:
        tensor = convert_to_tensor(input)
        count = tensor.shape.num_elements()
        if count is not None:
            return constant(count, out_type, name=scope)
        return _measure("Size", tensor, scope, out_type, lambda x: x.size)


def rank(input: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the number of axes of a dense or sparse tensor, as an int32 scalar."""
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor):
            return size(input.dense_shape, name=scope)
        tensor = convert_to_tensor(input)
        if tensor.shape.rank is not None:
            return constant(tensor.shape.rank, dtypes.int32, name=scope)
        return _measure("Rank", tensor, scope, dtypes.int32, lambda x: x.ndim)


def rank_when_run(input: TensorLike) -> Tensor:
    """Returns the rank of a tensor, computed in each run even if the static rank is known."""
    with name_scope(None, "Rank", [input]) as scope:
        return _measure("Rank", convert_to_tensor(input), scope, dtypes.int32, lambda x: x.ndim)


def _measure(
    op_type: str, tensor: Tensor, name: str, out_type: DTypeLike, function: Callable[[Array], Any]
) -> Tensor:
    dtype = type_attr("out_type", out_type, (dtypes.int32, dtypes.int64))
    result: TensorShape = vector(tensor.shape.rank) if op_type == "Shape" else scalar()
    op = apply_op(
        op_type,
        [Input("input", tensor)],
        lambda _: [(dtype, result)],
        name=name,
        attrs={} if op_type == "Rank" else {"out_type": dtype},
        kernel=function,
    )
    return op.outputs[0]


def _sizes_of_shape(static: StaticValues, op: Operation) -> list[int | None] | None:
    shape = op.inputs[0].shape
    return None if shape.rank is None else shape.as_list()


define("Rank", computed=by_either, read_sizes=lambda _static, op: op.inputs[0].shape.rank)
define("Shape", computed=by_either, read_sizes=_sizes_of_shape)
define("Size", computed=by_either, read_sizes=lambda _static, op: op.inputs[0].shape.num_elements())
