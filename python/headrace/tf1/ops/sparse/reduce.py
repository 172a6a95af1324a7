"""Reduces sparse tensors along axes.

Source: `tf.sparse_reduce_sum`, `tf.sparse_reduce_max` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import size
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant
from headrace.ops.framework.elementwise import NUMBERS, REALS
from headrace.ops.framework.folding import fold
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = [
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
]


def sparse_reduce_sum(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Returns the sums of the elements of a sparse tensor over the given axes, as a dense tensor.

    Args:
        sp_input: The sparse tensor.
        axis: An int32 axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.

    Returns:
        A tensor of the same type. The result is 0 if there are no elements.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist, or an index is out of range.
        TypeError: If `sp_input` is not a sparse tensor of numbers.
    """
    return _dense("SparseReduceSum", sp_input, axis, keepdims, NUMBERS)


def sparse_reduce_max(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Returns the largest elements of a sparse tensor over the given axes, as a dense tensor.

    Args:
        sp_input: The sparse tensor.
        axis: An int32 axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.

    Returns:
        A tensor of the same type. The result is 0 if there are no elements. Missing elements are
        not compared.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist, or an index is out of range.
        TypeError: If `sp_input` is not a sparse tensor of real numbers.
    """
    return _dense("SparseReduceMax", sp_input, axis, keepdims, REALS)


def sparse_reduce_sum_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool = False,
) -> SparseTensor:
    """Returns the sums of the elements of a sparse tensor over the given axes, as a sparse tensor.

    Args:
        sp_input: The sparse tensor.
        axis: An int32 axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist.
        TypeError: If `sp_input` is not a sparse tensor of numbers.
    """
    return _sparse("SparseReduceSumSparse", sp_input, axis, keepdims, NUMBERS)


def sparse_reduce_max_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool = False,
) -> SparseTensor:
    """Returns the largest elements of a sparse tensor over the given axes, as a sparse tensor.

    Args:
        sp_input: The sparse tensor.
        axis: An int32 axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist.
        TypeError: If `sp_input` is not a sparse tensor of real numbers.
    """
    return _sparse("SparseReduceMaxSparse", sp_input, axis, keepdims, REALS)


def _dense(
    op_type: str,
    sparse: SparseTensor | SparseTensorValue,
    axis: TensorLike | None,
    keepdims: bool,
    allowed: tuple[DType, ...],
) -> Tensor:
    keep = bool(keepdims)

    def infer(_: Tensor, values: Tensor, shape: Tensor, axes: Tensor) -> Outputs:
        return [(values.dtype.base_dtype, _reduced(shape, axes, keep))]

    return _reduce(op_type, sparse, axis, keep, allowed, infer).outputs[0]


def _sparse(
    op_type: str,
    sparse: SparseTensor | SparseTensorValue,
    axis: TensorLike | None,
    keepdims: bool,
    allowed: tuple[DType, ...],
) -> SparseTensor:
    def infer(_: Tensor, values: Tensor, *__: Tensor) -> Outputs:
        unknown = unknown_shape()
        return [
            (dtypes.int64, unknown),
            (values.dtype.base_dtype, unknown),
            (dtypes.int64, unknown),
        ]

    op = _reduce(op_type, sparse, axis, bool(keepdims), allowed, infer)
    return SparseTensor(*op.outputs)


def _reduce(
    op_type: str,
    argument: SparseTensor | SparseTensorValue,
    axis: TensorLike | None,
    keep: bool,
    allowed: tuple[DType, ...],
    infer: Callable[..., Outputs],
) -> Operation:
    sparse = as_sparse_tensor(argument)
    inputs = [
        Input("input_indices", sparse.indices, dtypes.int64),
        Input("input_values", sparse.values, allowed=allowed),
        Input("input_shape", sparse.dense_shape, dtypes.int64),
        Input("reduction_axes", _all_axes(sparse) if axis is None else axis, dtypes.int32),
    ]
    return apply_op(op_type, inputs, infer, attrs={"keep_dims": keep})


def _all_axes(sparse: SparseTensor) -> Tensor:
    rank = sparse.dense_shape.shape.num_elements()
    if rank is None:
        return range_of(size(sparse.dense_shape))
    return constant(np.arange(rank), dtypes.int32)


def _reduced(shape: Tensor, axes: Tensor, keep: bool) -> TensorShape:
    """Returns the shape of the result if it is known. The run rejects axes that do not exist."""
    sizes, dims = fold(shape), fold(axes)
    if sizes is None or dims is None or ((dims < -len(sizes)) | (dims >= len(sizes))).any():
        return unknown_shape()
    reduced = {int(dim) % len(sizes) for dim in dims.ravel()}
    if keep:
        return TensorShape([1 if axis in reduced else n for axis, n in enumerate(sizes.tolist())])
    return TensorShape([n for axis, n in enumerate(sizes.tolist()) if axis not in reduced])


define("SparseReduceMax")
define("SparseReduceMaxSparse")
define("SparseReduceSum")
define("SparseReduceSumSparse")
