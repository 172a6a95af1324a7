"""Counts integers, numbers per bin, and pairs of labels and predictions.

Source: `tf.bincount`, `tf.histogram_fixed_width`, `tf.histogram_fixed_width_bins` and
`tf.confusion_matrix` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import vector
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import ones_like
from headrace.ops.array.join import stack
from headrace.ops.array.reshape import reshape, squeeze
from headrace.ops.array.scatter import scatter_nd
from headrace.ops.array.shape import rank, shape, size
from headrace.ops.control.assertions import assert_less, assert_non_negative
from headrace.ops.control.cond import cond
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import (
    add,
    clip_by_value,
    floor,
    maximum,
    minimum,
    multiply,
    subtract,
    truediv,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import equal, greater
from headrace.ops.math.reduce import reduce_max

__all__ = ["bincount", "confusion_matrix", "histogram_fixed_width", "histogram_fixed_width_bins"]

_COUNTED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
) -> Tensor:
    """Counts the occurrences of each integer.

    Args:
        arr: Non-negative integers, int32.
        weights: The weight of each integer, with the same shape. Defaults to 1.
        minlength: The minimum length of the result. Defaults to no limit.
        maxlength: The maximum length of the result. Larger integers are not counted. Defaults to no
            limit.
        dtype: Type of the result if no weights are given.

    Returns:
        A vector with the counts of 0, 1, and so on.

    Raises:
        InvalidArgumentError: At run time, if an integer is negative.
    """
    with name_scope(None, "bincount", [arr, weights]):
        numbers = convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        is_any = cast(greater(size(numbers), 0), dtypes.int32)
        length = multiply(is_any, add(reduce_max(numbers), 1))
        if minlength is not None:
            least = convert_to_tensor(minlength, dtypes.int32, name="minlength")
            length = maximum(least, length)
        if maxlength is not None:
            most = convert_to_tensor(maxlength, dtypes.int32, name="maxlength")
            length = minimum(most, length)
        each = constant([], dtype) if weights is None else weights
        return count_integers(numbers, length, each)


def count_integers(
    arr: Tensor, size: Tensor, weights: TensorLike, name: str | None = None
) -> Tensor:
    """Adds the `bincount` operation, for a known length. The weights may be empty."""

    def infer(_items: Tensor, count: Tensor, _each: Tensor) -> Outputs:
        check_rank(count.shape, 0)
        return [(_each.dtype.base_dtype, vector(fold_scalar(count)))]

    def kernel(items: Array, count: Array, each: Array) -> Array:
        number = int(count.item())
        if number < 0:
            fail(f"size ({number}) must be non-negative")
        if (items < 0).any():
            fail("Input arr must be non-negative!")
        check_array([number], each.dtype)
        counts = np.zeros(number, dtype=each.dtype)
        is_counted = items < number
        if not each.size:
            np.add.at(counts, items[is_counted], each.dtype.type(1))
            return counts
        if each.shape != items.shape:
            fail(f"weights and arr must have the same shape, got {each.shape}, {items.shape}")
        np.add.at(counts, items[is_counted], each[is_counted])
        return counts

    inputs = [
        Input("arr", arr, dtypes.int32),
        Input("size", size, dtypes.int32),
        Input("weights", weights, allowed=_COUNTED),
    ]
    return apply_op("Bincount", inputs, infer, name=name, kernel=kernel).outputs[0]


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Counts the numbers in each of `nbins` bins of equal width.

    Args:
        values: The numbers, of any shape.
        value_range: The start of the first bin and the end of the last bin, of the same type as
            `values`. Numbers outside the range are counted in the first or last bin.
        nbins: The number of bins.
        dtype: The type of the counts, int32 or int64.
        name: Name of the operation.

    Returns:
        The count for each bin.

    Raises:
        InvalidArgumentError: At run time, if the range is empty or `nbins` is less than 1.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return counts_in_bins(values, value_range, nbins, dtype, scope)


def counts_in_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Adds the `histogram_fixed_width` operation."""
    kind = type_attr("dtype", dtype, INDEX_TYPES)

    def infer(_values: Tensor, _range: Tensor, count: Tensor) -> Outputs:
        check_rank(_range.shape, 1)
        check_rank(count.shape, 0)
        number = fold_scalar(count)
        if number is not None and number <= 0:
            raise ShapeConflict(f"nbins should be a positive number, but got '{number}'")
        return [(kind, vector(number))]

    def kernel(numbers: Array, ends: Array, count: Array) -> Array:
        if ends.shape != (2,):
            fail(f"value_range should be a vector of 2 elements, but got shape {ends.shape}")
        low, high = ends.tolist()
        if not low < high:
            fail(
                "value_range should satisfy value_range[0] < value_range[1], but got "
                f"'[{low}, {high}]'"
            )
        number = int(count.item())
        if number <= 0:
            fail(f"nbins should be a positive number, but got '{number}'")
        check_array([number], np.dtype(np.int64))
        step = (float(high) - float(low)) / number
        offsets = np.maximum(numbers, ends[0]) - ends[0]
        bins = np.minimum(offsets.astype(np.float64) / step, number - 1).astype(np.int32)
        return np.bincount(bins.ravel(), minlength=number)

    inputs = [
        Input("values", values, allowed=_COUNTED),
        Input("value_range", value_range),
        Input("nbins", nbins, dtypes.int32),
    ]
    attrs = {"dtype": kind}
    op = apply_op("HistogramFixedWidth", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the histogram bin for each number.

    Args:
        values: The numbers, of any shape.
        value_range: The start of the first bin and the end of the last bin, of the same type as
            `values`.
        nbins: The number of bins, all of the same width. Numbers outside the range belong to the
            first or last bin.
        dtype: The type of the result.
        name: Name of the scope.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        numbers = convert_to_tensor(values, name="values")
        flat = reshape(numbers, [-1])
        ends = convert_to_tensor(value_range, name="value_range")
        count = convert_to_tensor(nbins, dtypes.int32, name="nbins")
        width = subtract(ends[1], ends[0])
        scaled = truediv(subtract(flat, ends[0]), width, name="scaled_values")
        indices = floor(multiply(cast(count, scaled.dtype), scaled), name="indices")
        last = cast(subtract(count, 1), scaled.dtype)
        bins = cast(clip_by_value(indices, 0, last), as_dtype(dtype))
        return reshape(bins, shape(numbers))


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Counts how often each class was predicted for each label.

    Args:
        labels: The labels, a vector of non-negative integers.
        predictions: The predicted classes, one per label.
        num_classes: The number of classes. Defaults to the largest label or prediction plus one.
        dtype: Type of the counts.
        weights: The weight of each pair. Defaults to 1.
        name: Name of the scope.

    Returns:
        A matrix with one row per label and one column per predicted class.

    Raises:
        InvalidArgumentError: At run time, if a number is out of range.
        ValueError: If the shapes do not match.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        truth, guesses = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"),
            convert_to_tensor(predictions, name="predictions"),
        )
        guesses, truth = cast(guesses, dtypes.int64), cast(truth, dtypes.int64)
        truth = with_dependencies(
            [assert_non_negative(truth, message="`labels` contains negative values")], truth
        )
        guesses = with_dependencies(
            [assert_non_negative(guesses, message="`predictions` contains negative values")],
            guesses,
        )
        if num_classes is None:
            number = add(maximum(reduce_max(guesses), reduce_max(truth)), 1)
        else:
            number = cast(num_classes, dtypes.int64)
            truth = with_dependencies(
                [assert_less(truth, number, message="`labels` out of bound")], truth
            )
            guesses = with_dependencies(
                [assert_less(guesses, number, message="`predictions` out of bound")], guesses
            )
        if weights is None:
            each = ones_like(guesses, dtype)
        else:
            each = convert_to_tensor(weights)
            guesses.shape.assert_is_compatible_with(each.shape)
            each = cast(each, dtype)
        indices = stack([truth, guesses], 1)
        return scatter_nd(indices, each, stack([number, number]))


def remove_squeezable_dimensions(
    labels: TensorLike,
    predictions: TensorLike,
    expected_rank_diff: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Removes a last axis of size 1 that only one of two tensors has.

    Args:
        labels: The labels.
        predictions: The predictions.
        expected_rank_diff: The expected difference: the rank of the predictions minus the rank of
            the labels.
        name: Name of the scope.

    Returns:
        The labels and the predictions.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        guesses = convert_to_tensor(predictions)
        truth = convert_to_tensor(labels)
        ranks = guesses.shape.rank, truth.shape.rank
        if None not in ranks:
            difference = (ranks[0] or 0) - (ranks[1] or 0)
            if difference == expected_rank_diff + 1 and _may_be_one(guesses):
                guesses = squeeze(guesses, [-1])
            elif difference == expected_rank_diff - 1 and _may_be_one(truth):
                truth = squeeze(truth, [-1])
            return truth, guesses
        result = subtract(rank(guesses), rank(truth))
        if ranks[0] is None or _may_be_one(guesses):
            is_longer = equal(expected_rank_diff + 1, result)
            guesses = cond(is_longer, *_squeezed_or_not(guesses))
        if ranks[1] is None or _may_be_one(truth):
            is_longer = equal(expected_rank_diff - 1, result)
            truth = cond(is_longer, *_squeezed_or_not(truth))
        return truth, guesses


def _may_be_one(tensor: Tensor) -> bool:
    """Returns whether the last axis of a tensor of known rank may have size 1."""
    return bool(tensor.shape.rank) and tensor.shape[-1].is_compatible_with(1)


def _squeezed_or_not(tensor: Tensor) -> tuple:  # type: ignore[type-arg]
    return (lambda: squeeze(tensor, [-1])), (lambda: tensor)


define("Bincount")
define("HistogramFixedWidth")
