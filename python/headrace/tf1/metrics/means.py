"""Metrics that compute a mean: of values, of correct predictions, or of errors.

Source: `tf.metrics.mean`, `accuracy`, `mean_squared_error` and similar functions of TensorFlow
1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, control_dependencies
from headrace.ops.math.histogram import remove_squeezable_dimensions
from headrace.tf1 import ops
from headrace.tf1.metrics.accumulators import Collections, Metric, metric_variable, published
from headrace.tf1.ops.math.weights import aligned, aligned_weights, broadcast_weights

__all__ = [
    "accuracy",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "root_mean_squared_error",
]


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of all elements in all batches.

    Args:
        values: The numbers of a batch.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The mean so far, and an operation that adds the batch and returns the new mean.

    Raises:
        ValueError: If the weights do not match the values.
    """
    with ops.variable_scope(name, "mean", values=[values, weights]):
        numbers = ops.cast(values, dtypes.float32)
        total = metric_variable([], name="total")
        count = metric_variable([], name="count")
        if weights is None:
            number = ops.cast(ops.size(numbers), dtypes.float32)
        else:
            numbers, each = _weighted(numbers, weights)
            number = ops.reduce_sum(each)
        update_total = ops.assign_add(total, ops.reduce_sum(numbers))
        with control_dependencies([numbers]):
            update_count = ops.assign_add(count, number)
        value = ops.div_no_nan(total, ops.maximum(count, 0.0), name="value")
        update = ops.div_no_nan(update_total, ops.maximum(update_count, 0.0), name="update_op")
        return published(value, update, metrics_collections, updates_collections)


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of each element over all batches.

    Args:
        values: The numbers of a batch, of a known shape.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The means so far, and an operation that adds the batch and returns the new means.

    Raises:
        ValueError: If the weights do not match the values, or the shape is not known.
    """
    with ops.variable_scope(name, "mean", values=[values, weights]):
        numbers = ops.cast(values, dtypes.float32)
        sizes = numbers.shape.as_list()
        if None in sizes:
            raise ValueError(
                f"mean_tensor: the shape of values is {numbers.shape}, but it must be fully known"
            )
        shape = [size or 0 for size in sizes]
        total = metric_variable(shape, name="total_tensor")
        count = metric_variable(shape, name="count_tensor")
        each = ops.ones_like(numbers)
        if weights is not None:
            numbers, counts = _weighted(numbers, weights)
            each = ops.multiply(each, counts)
        update_total = ops.assign_add(total, numbers)
        with control_dependencies([numbers]):
            update_count = ops.assign_add(count, each)
        value = ops.div_no_nan(total, ops.maximum(count, 0.0), name="value")
        update = ops.div_no_nan(update_total, ops.maximum(update_count, 0.0), name="update_op")
        return published(value, update, metrics_collections, updates_collections)


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of predictions that equal their labels.

    Args:
        labels: The labels of a batch.
        predictions: The predictions, of the same shape.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.

    Raises:
        ValueError: If shapes do not match.
    """
    guesses, truth, each = aligned(predictions, labels, weights)
    if guesses.dtype.base_dtype != truth.dtype.base_dtype:
        guesses = ops.cast(guesses, truth.dtype.base_dtype)
    is_correct = ops.cast(ops.equal(guesses, truth), dtypes.float32)
    return mean(is_correct, each, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean absolute difference between labels and predictions; see `mean_squared_error`."""
    guesses, truth, each = aligned(predictions, labels, weights)
    errors = ops.abs(ops.subtract(guesses, truth))
    default = name or "mean_absolute_error"
    return mean(errors, each, metrics_collections, updates_collections, default)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean squared difference between labels and predictions.

    Args:
        labels: The labels of a batch.
        predictions: The predictions, of the same shape and type.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The error so far, and an operation that adds the batch and returns the new error.

    Raises:
        ValueError: If shapes do not match.
    """
    guesses, truth, each = aligned(predictions, labels, weights)
    errors = ops.squared_difference(truth, guesses)
    default = name or "mean_squared_error"
    return mean(errors, each, metrics_collections, updates_collections, default)


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The square root of `mean_squared_error`, with the same arguments."""
    guesses, truth, each = aligned(predictions, labels, weights)
    default = name or "root_mean_squared_error"
    value, update = mean_squared_error(truth, guesses, each, None, None, default)
    return published(ops.sqrt(value), ops.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of the absolute differences, each divided by `normalizer`, or 0 if that is 0.

    Args:
        labels: The labels of a batch.
        predictions: The predictions, of the same shape and type.
        normalizer: The divisor, of the same shape.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The error so far, and an operation that adds the batch and returns the new error.

    Raises:
        ValueError: If shapes do not match.
    """
    guesses, truth, each = aligned(predictions, labels, weights)
    guesses, divisor = remove_squeezable_dimensions(guesses, normalizer)
    guesses.shape.assert_is_compatible_with(divisor.shape)
    distances = ops.abs(ops.subtract(truth, guesses))
    is_zero = ops.equal(divisor, ops.zeros([], divisor.dtype.base_dtype))
    errors = ops.where(is_zero, ops.zeros_like(truth), _divided(distances, divisor))
    default = name or "mean_relative_error"
    return mean(errors, each, metrics_collections, updates_collections, default)


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """One minus the mean dot product of labels and predictions, which are unit vectors.

    Args:
        labels: The labels of a batch.
        predictions: The predictions, of the same shape.
        dim: The axis of the vectors.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The distance so far, and an operation that adds the batch and returns the new distance.

    Raises:
        ValueError: If shapes do not match.
    """
    guesses, truth, each = aligned(predictions, labels, weights)
    products = ops.reduce_sum(ops.multiply(guesses, truth), [dim], keepdims=True)
    value, update = mean(products, each, None, None, name or "mean_cosine_distance")
    value, update = ops.subtract(1.0, value), ops.subtract(1.0, update)
    return published(value, update, metrics_collections, updates_collections)


def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of all values, from 0 to 1, that are below a threshold.

    Args:
        values: The numbers of a batch.
        threshold: The threshold.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.
    """
    is_below = ops.cast(ops.less(values, threshold), dtypes.float32)
    default = name or "percentage_below_threshold"
    return mean(is_below, weights, metrics_collections, updates_collections, default)


def _weighted(numbers: Tensor, weights: TensorLike) -> Metric:
    """Returns the numbers multiplied by their weights, and the weights broadcast to their shape."""
    each = ops.cast(aligned_weights(weights, numbers), dtypes.float32)
    full = broadcast_weights(each, numbers)
    return ops.multiply(numbers, full), full


def _divided(x: Tensor, y: Tensor) -> Tensor:
    """Divides as Python 2 does: the quotient of integers is an integer."""
    return ops.realdiv(x, y) if x.dtype.is_floating else ops.floordiv(x, y)
