"""Sums and means of selected rows, grouped by segment number.

Source: `tf.sparse_segment_sum`, `tf.sparse_segment_mean` and `tf.sparse_segment_sqrt_n` of
TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import FLOATS, INDEX_TYPES, REALS
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, fail

__all__ = ["sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum"]


def sparse_segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the sum of the selected rows of each segment.

    Args:
        data: Rows of real numbers, along the first axis.
        indices: The rows to select, an integer vector.
        segment_ids: The segment of each selected row, an integer vector in ascending order.
        num_segments: The number of segments. Defaults to the last segment plus one.
        name: Name of the operation.

    Returns:
        One row per segment, or 0 if a segment has no rows.

    Raises:
        InvalidArgumentError: At run time, if a row or a segment is out of range, or the segments
            are not in order.
        ValueError: If ranks or lengths do not match.
    """
    return _combined("SparseSegmentSum", data, indices, segment_ids, num_segments, REALS, name)


def sparse_segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the mean of the selected rows of each segment.

    Args:
        data: Rows of floats, along the first axis.
        indices: The rows to select, an integer vector.
        segment_ids: The segment of each selected row, an integer vector in ascending order.
        num_segments: The number of segments. Defaults to the last segment plus one.
        name: Name of the operation.

    Returns:
        One row per segment, or 0 if a segment has no rows.

    Raises:
        InvalidArgumentError: At run time, if a row or a segment is out of range, or the segments
            are not in order.
        ValueError: If ranks or lengths do not match.
    """
    return _combined("SparseSegmentMean", data, indices, segment_ids, num_segments, FLOATS, name)


def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the sum of the rows of each segment, divided by the square root of their count.

    Args:
        data: Rows of floats, along the first axis.
        indices: The rows to select, an integer vector.
        segment_ids: The segment of each selected row, an integer vector in ascending order.
        num_segments: The number of segments. Defaults to the last segment plus one.
        name: Name of the operation.

    Returns:
        One row per segment, or 0 if a segment has no rows.

    Raises:
        InvalidArgumentError: At run time, if a row or a segment is out of range, or the segments
            are not in order.
        ValueError: If ranks or lengths do not match.
    """
    return _combined("SparseSegmentSqrtN", data, indices, segment_ids, num_segments, FLOATS, name)


def _combined(
    op_type: str,
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None,
    allowed: tuple[DType, ...],
    name: str | None,
) -> Tensor:
    def infer(rows: Tensor, indices: Tensor, numbers: Tensor, *count: Tensor) -> Outputs:
        check_rank(indices.shape, 1)
        check_rank(numbers.shape, 1)
        merge_shapes(indices.shape, numbers.shape)
        static = [fold_scalar(each) for each in count]
        if any(each.shape.rank for each in count):
            raise ShapeConflict(f"Shape must be rank 0 but is rank {count[0].shape.rank}")
        if any(each is not None and each < 0 for each in static):
            raise ShapeConflict("Cannot specify a negative value for num_segments")
        if rows.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        if rows.shape.rank is None:
            return [(rows.dtype.base_dtype, unknown_shape())]
        length = static[0] if static else None
        return [(rows.dtype.base_dtype, TensorShape([length]).concatenate(rows.shape[1:]))]

    def kernel(rows: Array, indices: Array, numbers: Array, *count: Array) -> Array:
        _check(rows, indices, numbers)
        total = int(numbers[-1]) + 1 if numbers.size else 0
        if count:
            num_segments = int(count[0].item())
            if num_segments < max(total, 0):
                fail(
                    f"segment ids must be < num_segments, got {total - 1} with {num_segments} "
                    "segments"
                )
            total = num_segments
        check_array([total, *rows.shape[1:]], rows.dtype)
        result = np.zeros((total, *rows.shape[1:]), rows.dtype)
        if numbers.size:
            begins = np.flatnonzero(np.diff(numbers, prepend=-1))
            lengths = np.diff(np.append(begins, len(numbers)))
            lengths = lengths.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
            sums = np.add.reduceat(rows[indices], begins, axis=0, dtype=rows.dtype)
            if op_type == "SparseSegmentMean":
                sums = sums / lengths
            if op_type == "SparseSegmentSqrtN":
                sums = sums / np.sqrt(lengths)
            result[numbers[begins]] = sums
        return result

    inputs = [
        Input("data", data, allowed=allowed),
        Input("indices", indices, var="Tidx", allowed=INDEX_TYPES),
        Input("segment_ids", segment_ids, var="Tsegmentids", allowed=INDEX_TYPES),
    ]
    if num_segments is None:
        return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]
    inputs.append(Input("num_segments", num_segments, var="Tnumsegments", allowed=INDEX_TYPES))
    with_number = f"{op_type}WithNumSegments"
    return apply_op(with_number, inputs, infer, name=name, kernel=kernel).outputs[0]


def _check(rows: Array, indices: Array, numbers: Array) -> None:
    if indices.ndim != 1 or numbers.ndim != 1:
        fail("indices and segment_ids should be vectors.")
    if len(indices) != len(numbers):
        fail("segment_ids and indices should have same size.")
    if not rows.ndim:
        fail("data should be at least a vector.")
    if numbers.size and int(numbers[0]) < 0:
        fail("segment ids must be >= 0")
    if (np.diff(numbers) < 0).any():
        fail("segment ids are not increasing")
    wrong = np.flatnonzero((indices < 0) | (indices >= len(rows)))
    if len(wrong):
        fail(f"indices[{wrong[0]}] == {indices[wrong[0]]} out of range [0, {len(rows)})")


define("SparseSegmentMean")
define("SparseSegmentMeanWithNumSegments")
define("SparseSegmentSqrtN")
define("SparseSegmentSqrtNWithNumSegments")
define("SparseSegmentSum")
define("SparseSegmentSumWithNumSegments")
