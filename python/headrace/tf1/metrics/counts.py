"""Metrics that count correct and wrong bool predictions.

Source: `tf.metrics.true_positives`, `precision`, `recall` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.metrics.accumulators import Collections, Metric, metric_variable, published
from headrace.tf1.ops.math.weights import aligned, broadcast_weights

__all__ = [
    "false_negatives",
    "false_positives",
    "precision",
    "recall",
    "true_negatives",
    "true_positives",
]

Counter = Callable[..., Metric]


def true_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true predictions that are correct.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, which are converted to bool.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The number so far, and an operation that adds the batch and returns the new number.

    Raises:
        ValueError: If shapes do not match.
    """
    collections = metrics_collections, updates_collections
    return _count("true_positives", True, True, labels, predictions, weights, collections, name)


def true_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false predictions that are correct; see `true_positives`."""
    collections = metrics_collections, updates_collections
    return _count("true_negatives", False, False, labels, predictions, weights, collections, name)


def false_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true predictions whose label is false; see `true_positives`."""
    collections = metrics_collections, updates_collections
    return _count("false_positives", False, True, labels, predictions, weights, collections, name)


def false_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false predictions whose label is true; see `true_positives`."""
    collections = metrics_collections, updates_collections
    return _count("false_negatives", True, False, labels, predictions, weights, collections, name)


def precision(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of true predictions that are correct, or 0 if there are none.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, which are converted to bool.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.

    Raises:
        ValueError: If shapes do not match.
    """
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights
    return _share("precision", false_positives, *arguments, collections, name)


def recall(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of true labels that were predicted, or 0 if there are none. See `precision`."""
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights
    return _share("recall", false_negatives, *arguments, collections, name)


def _count(
    default_name: str,
    wanted_label: bool,
    wanted_prediction: bool,
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    with ops.variable_scope(name, default_name, values=[predictions, labels, weights]):
        guesses, truth, each = aligned(
            ops.cast(predictions, dtypes.bool), ops.cast(labels, dtypes.bool), weights
        )
        is_counted = ops.logical_and(
            ops.equal(truth, wanted_label), ops.equal(guesses, wanted_prediction)
        )
        count = metric_variable([], name="count")
        counted = ops.cast(is_counted, dtypes.float32)
        if each is not None:
            weight = broadcast_weights(ops.cast(each, dtypes.float32), counted)
            counted = ops.multiply(counted, weight)
        value = ops.identity(count)
        update = ops.assign_add(count, ops.reduce_sum(counted))
        return published(value, update, *collections)


def _share(
    default_name: str,
    count_wrong: Counter,
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    with ops.variable_scope(name, default_name, values=[predictions, labels, weights]):
        guesses, truth, each = aligned(
            ops.cast(predictions, dtypes.bool), ops.cast(labels, dtypes.bool), weights
        )
        right, update_right = true_positives(truth, guesses, each)
        wrong, update_wrong = count_wrong(truth, guesses, each)
        value = _divided(right, wrong, "value")
        update = _divided(update_right, update_wrong, "update_op")
        return published(value, update, *collections)


def _divided(right: Tensor, wrong: Tensor, name: str) -> Tensor:
    """Returns right / (right + wrong), or 0 if both are 0."""
    is_any = ops.greater(ops.add(right, wrong), 0.0)
    return ops.where(is_any, ops.realdiv(right, ops.add(right, wrong)), 0.0, name=name)
