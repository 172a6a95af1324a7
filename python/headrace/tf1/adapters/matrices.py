"""Matrices, blocks and sequences, with the names and arguments from TensorFlow 1.

Source: `tf.matrix_diag`, `tf.depth_to_space`, `tf.confusion_matrix`, `tf.norm` and similar
functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import ShapeLike, as_shape
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "accumulate_n",
    "batch_gather",
    "confusion_matrix",
    "depth_to_space",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
    "matrix_transpose",
    "norm",
    "reduce_logsumexp",
    "reverse_sequence",
    "space_to_depth",
]


def matrix_diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
) -> Tensor:
    """Calls `ops.matrix_diag`."""
    return ops.matrix_diag(diagonal, k, num_rows, num_cols, padding_value, name)


def matrix_diag_part(
    input: TensorLike, name: str = "diag_part", k: TensorLike = 0, padding_value: TensorLike = 0
) -> Tensor:
    """Calls `ops.matrix_diag_part`.

    Raises:
        ValueError: If a matrix does not have this diagonal.
    """
    return ops.matrix_diag_part(input, k, padding_value, name)


def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: TensorLike = 0
) -> Tensor:
    """Calls `ops.matrix_set_diag`.

    Raises:
        ValueError: If a matrix does not have this diagonal, or the new elements do not fit.
    """
    return ops.matrix_set_diag(input, diagonal, k, name)


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Swaps the last two axes.

    Args:
        a: Matrices, in the last two axes.
        name: Name of the scope.
        conjugate: If True, complex elements are conjugated.

    Raises:
        ValueError: If there are fewer than two axes.
    """
    with name_scope(name, values=[a]):
        tensor = ops.convert_to_tensor(a, name="a")
        rank = tensor.shape.rank
        if rank is None:
            last = ops.rank(tensor)
            order = ops.concat([ops.range(last - 2), [last - 1, last - 2]], 0)
            return ops.transpose(tensor, order, conjugate)
        if rank < 2:
            raise ValueError(
                f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {tensor.shape}"
            )
        axes = [*range(rank - 2), rank - 1, rank - 2]
        return ops.transpose(tensor, axes, conjugate)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Calls `ops.depth_to_space`.

    Raises:
        ValueError: If the number of channels is not a multiple of the number of pixels in a block.
    """
    return ops.depth_to_space(input, block_size, data_format, name)


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Calls `ops.space_to_depth`.

    Raises:
        ValueError: If the height or width is not a multiple of `block_size`.
    """
    return ops.space_to_depth(input, block_size, data_format, name)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Calls `ops.reverse_sequence`; `seq_dim` and `batch_dim` are the old names of the axes.

    Raises: TypeError: If `seq_axis` is missing.
    ValueError: If both names are given, the axis does not exist, or the shapes do not match.
    """
    axis = only_one("seq_axis", seq_axis, "seq_dim", seq_dim)
    rows = only_one("batch_axis", batch_axis, "batch_dim", batch_dim)
    if axis is None:
        raise TypeError("reverse_sequence: seq_axis is None, but it is required.")
    return ops.reverse_sequence(input, seq_lengths, axis, 0 if rows is None else rows, name)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.confusion_matrix`.

    Raises:
        ValueError: If the shapes do not match.
    """
    return ops.confusion_matrix(labels, predictions, num_classes, dtype, weights, name)


def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: int | Sequence[int] | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Calls `ops.norm`. Also accepts `keep_dims`, the old name of `keepdims`.

    Raises:
        ValueError: If both names are given, or the axes or the order are not supported.
    """
    keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
    return ops.norm(tensor, ord, axis, keep, name)


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Calls `ops.reduce_logsumexp`. Also accepts `reduction_indices` and `keep_dims`.

    Raises:
        ValueError: If both an old and a new name are given, or the axis does not exist.
    """
    dim = only_one("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
    return ops.reduce_logsumexp(input_tensor, dim, keep, name)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Selects elements from each row by index, along the last axis of `indices`.

    Args:
        params: The tensor.
        indices: The positions, an integer tensor of known rank. All axes except the last have the
            same sizes as in `params`.
        name: Name of the scope.

    Raises:
        ValueError: If the rank of `indices` is unknown.
    """
    with name_scope(name, "BatchGather", [params, indices]):
        positions = ops.convert_to_tensor(indices, name="indices")
        rows = ops.convert_to_tensor(params, name="params")
        if positions.shape.rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        number = positions.shape.rank - 1
        return ops.gather(rows, positions, axis=number, batch_dims=number)


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds tensors of the same shape.

    Args:
        inputs: The tensors, of the same type.
        shape: The shape of the tensors. Defaults to their static shape.
        tensor_dtype: The type of the tensors. Defaults to the type of the first.
        name: Name of the operation.

    Raises:
        TypeError: If the tensors do not have `tensor_dtype`.
        ValueError: If `inputs` is empty, or the types or shapes differ.
    """
    words = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(words)
    tensors = [ops.convert_to_tensor(item) for item in inputs]
    dtype = tensors[0].dtype.base_dtype
    if any(tensor.dtype.base_dtype != dtype for tensor in tensors):
        raise ValueError(words)
    static_shape = as_shape(shape)
    for tensor in tensors:
        static_shape = static_shape.merge_with(tensor.shape)
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype).base_dtype != dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {dtype}")
    if len(tensors) == 1:
        return tensors[0] if name is None else ops.identity(tensors[0], name=name)
    result = ops.add_n(tensors, name=name)
    result.set_shape(static_shape)
    return result
