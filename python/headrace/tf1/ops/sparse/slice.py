"""Parts of sparse tensors.

Source: `tf.sparse_slice` and `tf.sparse_split` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import int_attr
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_slice", "sparse_split"]


def sparse_slice(
    sp_input: SparseTensor | SparseTensorValue,
    start: TensorLike,
    size: TensorLike,
    name: str | None = None,
) -> SparseTensor:
    """Returns a slice of a sparse tensor.

    Args:
        sp_input: The sparse tensor.
        start: int64, (rank,): the start of the slice.
        size: int64, (rank,): the size of the slice. The slice is cut off at the end of the tensor.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: When run, if a size is negative, or the number of sizes differs from
            the rank.
        TypeError: If `sp_input` is not a sparse tensor, or `start` or `size` are not integers.
    """
    sparse = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseSlice", [sparse.indices]) as scope:
        inputs = [
            *_inputs(sparse),
            Input("start", convert_to_tensor(start, dtypes.int64), dtypes.int64),
            Input("size", convert_to_tensor(size, dtypes.int64), dtypes.int64),
        ]

        def infer(indices: Tensor, values: Tensor, shape: Tensor, *_: Tensor) -> Outputs:
            return _some_of(indices, values, shape)

        return SparseTensor(*apply_op("SparseSlice", inputs, infer, name=scope).outputs)


def sparse_split(
    sp_input: SparseTensor | SparseTensorValue,
    num_split: int,
    axis: TensorLike,
    name: str | None = None,
) -> list[SparseTensor]:
    """Splits a sparse tensor along an axis. If the pieces can't be equal, the first are larger.

    Args:
        sp_input: The sparse tensor.
        num_split: The number of pieces, at most the size of the axis.
        axis: The axis, an int64 scalar in [-rank, rank).
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist or is shorter than
            `num_split`, or an index is out of range.
        TypeError: If `sp_input` is not a sparse tensor, or `num_split` or `axis` is not an integer.
        ValueError: If `num_split` is less than 1.
    """
    sparse = as_sparse_tensor(sp_input)
    count = int_attr("num_split", num_split)
    if count < 1:
        raise ValueError(
            f"Attr 'num_split' of 'SparseSplit' Op passed {count} less than minimum 1."
        )

    def infer(_: Tensor, indices: Tensor, values: Tensor, shape: Tensor) -> Outputs:
        return [part for part in _some_of(indices, values, shape) for _ in range(count)]

    inputs = [Input("split_dim", axis, dtypes.int64), *_inputs(sparse)]
    op = apply_op("SparseSplit", inputs, infer, name=name, attrs={"num_split": count})
    parts = (op.outputs[begin : begin + count] for begin in (0, count, 2 * count))
    return [SparseTensor(*each) for each in zip(*parts, strict=True)]


def _inputs(sparse: SparseTensor) -> list[Input]:
    return [
        Input("indices", sparse.indices, dtypes.int64),
        Input("values", sparse.values),
        Input("shape", sparse.dense_shape, dtypes.int64),
    ]


def _some_of(indices: Tensor, values: Tensor, shape: Tensor) -> Outputs:
    """Returns the dtypes and static shapes of a sparse tensor with a subset of the elements."""
    if indices.shape.rank not in (None, 2):
        raise ShapeConflict(f"Shape must be rank 2 but is rank {indices.shape.rank}")
    width = indices.shape[1] if indices.shape.rank else None
    return [
        (dtypes.int64, TensorShape([None, width])),
        (values.dtype.base_dtype, TensorShape([None])),
        (dtypes.int64, shape.shape),
    ]


define("SparseSlice")
define("SparseSplit")
