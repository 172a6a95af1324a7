"""Segment reductions: sums, means and extremes of the rows with the same segment number.

Source: `tf.segment_sum`, `tf.unsorted_segment_sum` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import fill, ones
from headrace.ops.array.join import concat
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import rank, shape
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES, NUMBERS, REALS
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import maximum, realdiv, sqrt, subtract

__all__ = [
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


class Segments(Protocol):
    """A function that reduces the rows with the same segment number to one row.

    Args:
        data: The rows, along the first axis.
        segment_ids: The segment number of each row, an integer vector in ascending order.
        name: Name of the operation.

    Returns:
        One row for each segment number from 0 to the last one.

    Raises:
        InvalidArgumentError: When run, if a segment number is negative, or the numbers are not in
            order.
    """

    def __call__(
        self, data: TensorLike, segment_ids: TensorLike, name: str | None = None
    ) -> Tensor:
        """Adds the operation to the current graph."""


class UnsortedSegments(Protocol):
    """A function that reduces the slices with the same segment number, in any order, to one slice.

    Args:
        data: The slices.
        segment_ids: The segment number of each slice, integers. The shape matches the first axes of
            `data`. Slices with negative numbers are omitted.
        num_segments: The number of segments.
        name: Name of the operation.

    Returns:
        One slice per segment number.

    Raises:
        InvalidArgumentError: At run time, if a number is out of range.
    """

    def __call__(
        self,
        data: TensorLike,
        segment_ids: TensorLike,
        num_segments: TensorLike,
        name: str | None = None,
    ) -> Tensor:
        """Adds the operation to the current graph."""


def _sorted(op_type: str, summary: str, function: Any, allowed: tuple[DType, ...]) -> Segments:
    def combine(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
        def infer(rows: Tensor, numbers: Tensor) -> Outputs:
            check_rank(numbers.shape, 1)
            if rows.shape.rank == 0:
                raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
            has_rank = rows.shape.rank is not None
            shape = TensorShape([None]).concatenate(rows.shape[1:]) if has_rank else unknown_shape()
            return [(rows.dtype.base_dtype, shape)]

        def kernel(rows: Array, numbers: Array) -> Array:
            if numbers.ndim != 1:
                fail("segment_ids should be a vector.")
            if not rows.ndim or len(rows) != len(numbers):
                fail("segment_ids should be the same size as dimension 0 of input.")
            if numbers.size and int(numbers[0]) < 0:
                fail("segment ids must be >= 0")
            if (np.diff(numbers) < 0).any():
                fail("segment ids are not increasing")
            count = int(numbers[-1]) + 1 if numbers.size else 0
            check_array([count, *rows.shape[1:]], rows.dtype)
            result = np.full((count, *rows.shape[1:]), function is np.multiply, dtype=rows.dtype)
            if not numbers.size:
                return result
            begins = np.flatnonzero(np.diff(numbers, prepend=-1))
            combined = function.reduceat(rows, begins, axis=0, dtype=rows.dtype)
            if op_type == "SegmentMean":
                counts = np.diff(np.append(begins, len(numbers)))
                combined = _divided(combined, counts.reshape(-1, *[1] * (rows.ndim - 1)))
            result[numbers[begins]] = combined
            return result

        inputs = [
            Input("data", data, allowed=allowed),
            Input("segment_ids", segment_ids, var="Tindices", allowed=INDEX_TYPES),
        ]
        return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]

    named: Segments = _named(combine, op_type, summary, Segments)
    return named


def _unsorted(
    op_type: str,
    summary: str,
    function: Any,
    first: Callable[[Any], Any],
    allowed: tuple[DType, ...],
) -> UnsortedSegments:
    def combine(
        data: TensorLike,
        segment_ids: TensorLike,
        num_segments: TensorLike,
        name: str | None = None,
    ) -> Tensor:
        def infer(rows: Tensor, numbers: Tensor, count: Tensor) -> Outputs:
            check_rank(count.shape, 0)
            dtype, before, front = rows.dtype.base_dtype, rows.shape, numbers.shape
            if before.rank is None or front.rank is None:
                return [(dtype, unknown_shape())]
            if before.rank < front.rank or not front.is_compatible_with(before[: front.rank]):
                raise ShapeConflict(
                    f"data.shape = {before} does not start with segment_ids.shape = {front}"
                )
            return [(dtype, TensorShape([fold_scalar(count)]).concatenate(before[front.rank :]))]

        def kernel(rows: Array, numbers: Array, count: Array) -> Array:
            if rows.shape[: numbers.ndim] != numbers.shape:
                fail(
                    f"data.shape = {list(rows.shape)} does not start with segment_ids.shape = "
                    f"{list(numbers.shape)}"
                )
            total = int(count.item())
            if total < 0:
                fail(f"Input num_segments == {total} must not be negative.")
            wrong = np.argwhere(numbers >= total)
            if len(wrong):
                where = tuple(wrong[0])
                at = f"[{','.join(map(str, where))}]"
                fail(f"segment_ids{at} = {numbers[where]} is out of range [0, {total})")
            rest = rows.shape[numbers.ndim :]
            check_array([total, *rest], rows.dtype)
            result = np.full((total, *rest), first(rows.dtype), dtype=rows.dtype)
            flat, is_kept = numbers.ravel(), numbers.ravel() >= 0
            function.at(result, flat[is_kept], rows.reshape(flat.size, *rest)[is_kept])
            return result

        inputs = [
            Input("data", data, allowed=allowed),
            Input("segment_ids", segment_ids, var="Tindices", allowed=INDEX_TYPES),
            Input("num_segments", num_segments, var="Tnumsegments", allowed=INDEX_TYPES),
        ]
        return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]

    named: UnsortedSegments = _named(combine, op_type, summary, UnsortedSegments)
    return named


def _named(function: Any, op_type: str, summary: str, protocol: type) -> Any:
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in op_type)
    function.__name__ = function.__qualname__ = words.removeprefix("_")
    function.__doc__ = f"{summary}\n\n{(protocol.__doc__ or '').split(chr(10), 2)[2]}"
    return function


def _divided(sums: Array, counts: Array) -> Any:
    if sums.dtype.kind in "iu":
        return np.sign(sums) * (np.abs(sums) // counts)
    return sums / counts


def _lowest(dtype: Any) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


segment_sum = _sorted("SegmentSum", "Adds the rows with the same number.", np.add, NUMBERS)
segment_prod = _sorted(
    "SegmentProd", "Multiplies the rows with the same number.", np.multiply, NUMBERS
)
segment_mean = _sorted(
    "SegmentMean", "Returns the mean of the rows with the same number.", np.add, NUMBERS
)
segment_max = _sorted(
    "SegmentMax",
    "Returns the largest elements of the rows with the same number.",
    np.maximum,
    REALS,
)
segment_min = _sorted(
    "SegmentMin",
    "Returns the smallest elements of the rows with the same number.",
    np.minimum,
    REALS,
)
unsorted_segment_sum = _unsorted(
    "UnsortedSegmentSum", "Adds the slices with the same number.", np.add, lambda _: 0, NUMBERS
)
unsorted_segment_prod = _unsorted(
    "UnsortedSegmentProd",
    "Multiplies the slices with the same number.",
    np.multiply,
    lambda _: 1,
    NUMBERS,
)
unsorted_segment_max = _unsorted(
    "UnsortedSegmentMax",
    "Returns the largest elements of the slices with the same number. If there are none, "
    "the result is the lowest number.",
    np.maximum,
    _lowest,
    REALS,
)
unsorted_segment_min = _unsorted(
    "UnsortedSegmentMin",
    "Returns the smallest elements of the slices with the same number. If there are none, "
    "the result is the highest number.",
    np.minimum,
    _highest,
    REALS,
)


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the mean of the slices with the same segment number, or 0 if there are none.

    Args:
        data: The slices, of a floating-point type.
        segment_ids: The segment number of each slice, integers. The shape matches the first axes of
            `data`. Slices with negative numbers are omitted.
        num_segments: The number of segments.
        name: Name of the scope.
    """
    with name_scope(name, "UnsortedSegmentMean"):
        data, numbers = convert_to_tensor(data), convert_to_tensor(segment_ids)
        counts = _counts(data, numbers, num_segments)
        return realdiv(unsorted_segment_sum(data, numbers, num_segments), counts)


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the sum of the slices with the same number, divided by the square root of the count.

    Args:
        data: The slices, of a floating-point type.
        segment_ids: The segment number of each slice, integers. The shape matches the first axes of
            `data`. Slices with negative numbers are omitted.
        num_segments: The number of segments.
        name: Name of the scope.
    """
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, numbers = convert_to_tensor(data), convert_to_tensor(segment_ids)
        counts = _counts(data, numbers, num_segments)
        return realdiv(unsorted_segment_sum(data, numbers, num_segments), sqrt(counts))


def _counts(data: Tensor, numbers: Tensor, num_segments: TensorLike) -> Tensor:
    """Returns the number of slices in each segment, at least 1, in a shape that fits the sums."""
    flat = reshape(numbers, [-1])
    each = ones(shape(flat), dtype=data.dtype.base_dtype)
    counts = unsorted_segment_sum(each, flat, num_segments)
    ones_behind = fill(reshape(subtract(rank(data), rank(numbers)), [1]), 1)
    return maximum(reshape(counts, concat([[-1], ones_behind], 0)), 1)


define("SegmentMax")
define("SegmentMean")
define("SegmentMin")
define("SegmentProd")
define("SegmentSum")
define("UnsortedSegmentMax")
define("UnsortedSegmentMin")
define("UnsortedSegmentProd")
define("UnsortedSegmentSum")
