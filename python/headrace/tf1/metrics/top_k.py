"""Metrics over the k largest predictions of each example.

Source: `tf.metrics.recall_at_k`, `precision_at_k`, `average_precision_at_k` and similar functions
in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.tf1 import ops
from headrace.tf1.metrics.accumulators import Collections, Metric, metric_variable, published
from headrace.tf1.ops.math.at_k import NO_LABEL, average_precision_of, matches_at_k
from headrace.tf1.ops.math.weights import broadcast_weights

__all__ = [
    "average_precision_at_k",
    "precision_at_k",
    "precision_at_top_k",
    "recall_at_k",
    "recall_at_top_k",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
]

Labels = TensorLike | ops.SparseTensor


def recall_at_k(
    labels: Labels,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of all labels that are among the k classes with the largest predictions.

    Args:
        labels: The classes of each example, integers. The shape is (…, labels), or (…) if each
            example has one label. If the numbers of labels differ, pass a sparse tensor.
        predictions: One number per class, (…, classes).
        k: The number of largest predictions to consider.
        class_id: The only class to consider. Defaults to all classes.
        weights: The weight of each example. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, float64, and an operation that adds the batch and returns the new
        fraction.

    Raises:
        ValueError: If shapes do not match.
    """
    with name_scope(name, _named("recall", k, class_id), _given(predictions, labels, weights)) as s:
        predicted = ops.top_k(predictions, k).indices
        collections = metrics_collections, updates_collections
        return _share("recall", labels, predicted, k, class_id, weights, collections, s)


def recall_at_top_k(
    labels: Labels,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Calls `recall_at_k` for predicted classes: integers, (…, k)."""
    collections = metrics_collections, updates_collections
    return _share("recall", labels, predictions_idx, k, class_id, weights, collections, name)


def precision_at_k(
    labels: Labels,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of the k classes with the largest predictions that are labels.

    The arguments are the same as for `recall_at_k`.
    """
    scope = _named("precision", k, class_id)
    with name_scope(name, scope, _given(predictions, labels, weights)) as s:
        predicted = ops.top_k(predictions, k).indices
        collections = metrics_collections, updates_collections
        return _share("precision", labels, predicted, k, class_id, weights, collections, s)


def precision_at_top_k(
    labels: Labels,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Calls `precision_at_k` for predicted classes: integers, (…, k)."""
    collections = metrics_collections, updates_collections
    return _share("precision", labels, predictions_idx, k, class_id, weights, collections, name)


def average_precision_at_k(
    labels: Labels,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over examples of the average precision of the k largest predictions.

    The average precision is the sum of the precisions at the position of each label, divided by the
    number of labels, or by k if there are more labels.

    Args:
        labels: The classes of each example; see `recall_at_k`.
        predictions: One number per class, (…, classes).
        k: The number of largest predictions to consider, at least 1.
        weights: The weight of each example. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The mean so far, float64, and an operation that adds the batch and returns the new mean.

    Raises:
        ValueError: If `k` is less than 1 or shapes do not match.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    inputs = _given(predictions, labels, weights)
    with name_scope(name, _named("average_precision", k, None), inputs) as scope:
        scores = ops.convert_to_tensor(predictions)
        predicted = ops.cast(ops.top_k(scores, k).indices, dtypes.int64)
        truth = _labels_of_classes(_dense_labels(labels, predicted), ops.shape(scores)[-1])
        precisions = average_precision_of(truth, predicted)
        if weights is None:
            most = ops.cast(ops.size(precisions), dtypes.float64)
        else:
            each = broadcast_weights(ops.cast(weights, dtypes.float64), precisions)
            precisions, most = ops.multiply(precisions, each), ops.reduce_sum(each)
        # In TensorFlow, another operation in this scope is already called `Max`.
        with name_scope(None, "max_1") as inner:
            largest = metric_variable([], dtypes.float64, inner)
            update_largest = ops.assign_add(largest, most, name="update")
        with name_scope(None, "total") as inner:
            total = metric_variable([], dtypes.float64, inner)
            update_total = ops.assign_add(total, ops.reduce_sum(precisions), name="update")
        value = ops.div_no_nan(total, largest, name="mean")
        update = ops.div_no_nan(update_total, update_largest, name=scope)
        return published(value, update, metrics_collections, updates_collections)


def sparse_precision_at_k(
    labels: Labels,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The old name of `precision_at_k`."""
    collections = metrics_collections, updates_collections
    return precision_at_k(labels, predictions, k, class_id, weights, *collections, name)


def sparse_average_precision_at_k(
    labels: Labels,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The old name of `average_precision_at_k`."""
    collections = metrics_collections, updates_collections
    return average_precision_at_k(labels, predictions, k, weights, *collections, name)


def _share(
    what: str,
    labels: Labels,
    predictions_idx: TensorLike,
    k: int | None,
    class_id: int | None,
    weights: TensorLike | None,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    """Returns the recall or precision of predicted classes."""
    inputs = _given(predictions_idx, labels, weights)
    with name_scope(name, _named(what, k, class_id), inputs) as scope:
        predicted = ops.cast(predictions_idx, dtypes.int64)
        right, wrong, missed = matches_at_k(_dense_labels(labels, predicted), predicted, class_id)
        others, other = (
            (missed, "false_negative") if what == "recall" else (wrong, "false_positive")
        )
        total, update_total = _accumulated("true_positive", right, weights, k, class_id)
        rest, update_rest = _accumulated(other, others, weights, k, class_id)
        value = ops.realdiv(total, ops.add(total, rest), name=scope)
        update = ops.realdiv(update_total, ops.add(update_total, update_rest), name="update")
        return published(value, update, *collections)


def _accumulated(
    what: str, counts: Tensor, weights: TensorLike | None, k: int | None, class_id: int | None
) -> tuple[Tensor, Tensor]:
    with name_scope(None, _named(what, k, class_id)) as scope:
        if weights is not None:
            each = broadcast_weights(ops.cast(weights, dtypes.float64), counts)
            counts = ops.multiply(counts, each)
        total = metric_variable([], dtypes.float64, scope)
        return total.value(), ops.assign_add(total, ops.reduce_sum(counts), name="update")


def _named(what: str, k: int | None, class_id: int | None) -> str:
    name = f"{what}_at_k" if k is None else f"{what}_at_{k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _given(predictions: TensorLike, labels: Labels, weights: TensorLike | None) -> list[Any]:
    first = labels.values if isinstance(labels, ops.SparseTensor) else labels
    return [predictions, first, weights]


def _dense_labels(labels: Labels, predicted: Tensor) -> Tensor:
    """Returns the labels of each example along the last axis, int64, padded with `NO_LABEL`."""
    if isinstance(labels, ops.SparseTensor):
        values = ops.cast(labels.values, dtypes.int64)
        sparse = ops.SparseTensor(labels.indices, values, labels.dense_shape)
        dense = ops.sparse_tensor_to_dense(sparse, NO_LABEL)
    else:
        dense = ops.cast(labels, dtypes.int64)
    ranks = dense.shape.rank, predicted.shape.rank
    if ranks[0] is not None and ranks[1] is not None:
        return ops.expand_dims(dense, -1) if ranks[0] == ranks[1] - 1 else dense
    is_single = ops.equal(ops.rank(predicted), ops.add(ops.rank(dense), 1))
    result: Tensor = ops.cond(
        is_single, lambda: ops.expand_dims(dense, -1), lambda: ops.identity(dense)
    )
    return result


def _labels_of_classes(labels: Tensor, num_classes: Tensor) -> Tensor:
    """Replaces labels that are not a class with `NO_LABEL`."""
    is_class = ops.logical_and(
        ops.greater_equal(labels, ops.zeros([], dtypes.int64)),
        ops.less(labels, ops.cast(num_classes, dtypes.int64)),
    )
    none = ops.fill(ops.shape(labels), ops.constant(NO_LABEL, dtypes.int64))
    return ops.where(is_class, labels, none)
