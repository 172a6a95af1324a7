"""Sparse tensors, with the names from TensorFlow 1.

Source: `tf.sparse_merge`, `tf.serialize_sparse`, `tf.sparse_concat`, `tf.sparse_split`,
`tf.sparse_add`, `tf.sparse_reduce_sum`, `tf.sparse_segment_sum` and similar functions of TensorFlow
1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from headrace.core.dtypes import DTypeLike, string
from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one
from headrace.tf1.ops import SparseTensor, SparseTensorValue

__all__ = [
    "serialize_many_sparse",
    "serialize_sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_merge",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_split",
]


def serialize_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    name: str | None = None,
    out_type: DTypeLike = string,
) -> Tensor:
    """Calls `ops.serialize_sparse`, with its arguments in a different order.

    Raises:
        TypeError: See `ops.serialize_sparse`.
    """
    return ops.serialize_sparse(sp_input, out_type, name)


def serialize_many_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    name: str | None = None,
    out_type: DTypeLike = string,
) -> Tensor:
    """Calls `ops.serialize_many_sparse`, with its arguments in a different order.

    Raises:
        TypeError: See `ops.serialize_many_sparse`.
    """
    return ops.serialize_many_sparse(sp_input, out_type, name)


def sparse_merge(
    sp_ids: SparseTensor | SparseTensorValue | Sequence[SparseTensor | SparseTensorValue],
    sp_values: SparseTensor | SparseTensorValue,
    vocab_size: TensorLike | Sequence[TensorLike],
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Calls `ops.sparse_merge`, with its arguments in a different order.

    Raises:
        TypeError: See `ops.sparse_merge`.
        ValueError: See `ops.sparse_merge`.
    """
    return ops.sparse_merge(sp_ids, sp_values, vocab_size, already_sorted, name)


def sparse_concat(
    axis: int | None,
    sp_inputs: Sequence[SparseTensor | SparseTensorValue],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Calls `ops.sparse_concat`. Accepts the old names `concat_dim` and `expand_nonconcat_dim`.

    Raises:
        TypeError: See `ops.sparse_concat`.
        ValueError: See `ops.sparse_concat`. Or if both `axis` and `concat_dim` are given.
    """
    axis = only_one("axis", axis, "concat_dim", concat_dim)
    does_expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    return ops.sparse_concat(axis, sp_inputs, does_expand, name)


class _KeywordRequired:
    """A marker. All arguments after it must be passed by name."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


_KEYWORD_REQUIRED: Final = _KeywordRequired()


def sparse_split(
    keyword_required: object = _KEYWORD_REQUIRED,
    sp_input: SparseTensor | SparseTensorValue | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
    split_dim: TensorLike | None = None,
) -> list[SparseTensor]:
    """Calls `ops.sparse_split`. All arguments must be passed by name. `split_dim` is an old name.

    Raises:
        TypeError: See `ops.sparse_split`.
        ValueError: See `ops.sparse_split`. Or if an argument is missing or passed by position.
    """
    if keyword_required is not _KEYWORD_REQUIRED:
        raise ValueError("Keyword arguments are required for this function.")
    axis = only_one("axis", axis, "split_dim", split_dim)
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    if axis is None:
        raise ValueError("axis is required")
    return ops.sparse_split(sp_input, num_split, axis, name)


def sparse_add(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> Any:
    """Calls `ops.sparse_add`. Also accepts `thresh`, the old name of `threshold`.

    Raises:
        TypeError: See `ops.sparse_add`.
        ValueError: See `ops.sparse_add`. Or if both an old and a new name are given.
    """
    least = only_one("threshold", threshold, "thresh", thresh)
    return ops.sparse_add(a, b, 0 if least is None else least)


class OldSparseReduction(Protocol):
    """A function that reduces a sparse tensor over the given axes.

    Args:
        sp_input: The sparse tensor.
        axis: An int32 axis, or a list or vector of axes. Defaults to all axes.
        keepdims: Whether the reduced axes are kept with size 1.
        reduction_axes: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor of the same type.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor of numbers.
        ValueError: If both an old and a new name are given.
    """

    def __call__(
        self,
        sp_input: SparseTensor | SparseTensorValue,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        """Adds the reduction to the current graph."""


def _with_old_names(function: Any) -> OldSparseReduction:
    """Returns a reduction that also accepts the old names of its arguments."""

    def adapter(
        sp_input: SparseTensor | SparseTensorValue,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
        axis = only_one("axis", axis, "reduction_axes", reduction_axes)
        return function(sp_input, axis, keep)

    first_line = (function.__doc__ or "").split("\n", 1)[0]
    adapter.__name__ = adapter.__qualname__ = function.__name__
    adapter.__doc__ = f"{first_line}\n\n{(OldSparseReduction.__doc__ or '').split(chr(10), 2)[2]}"
    return adapter


sparse_reduce_max = _with_old_names(ops.sparse_reduce_max)
sparse_reduce_max_sparse = _with_old_names(ops.sparse_reduce_max_sparse)
sparse_reduce_sum = _with_old_names(ops.sparse_reduce_sum)
sparse_reduce_sum_sparse = _with_old_names(ops.sparse_reduce_sum_sparse)


def sparse_segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.sparse_segment_sum`, with its arguments in a different order."""
    return ops.sparse_segment_sum(data, indices, segment_ids, num_segments, name)


def sparse_segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.sparse_segment_mean`, with its arguments in a different order."""
    return ops.sparse_segment_mean(data, indices, segment_ids, num_segments, name)


def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.sparse_segment_sqrt_n`, with its arguments in a different order."""
    return ops.sparse_segment_sqrt_n(data, indices, segment_ids, num_segments, name)
