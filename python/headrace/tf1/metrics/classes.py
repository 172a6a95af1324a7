"""Metrics computed from a table of labels and predicted classes.

Source: `tf.metrics.mean_iou` and `tf.metrics.mean_per_class_accuracy` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.metrics.accumulators import Collections, Metric, metric_variable, published

__all__ = ["mean_iou", "mean_per_class_accuracy"]


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The intersection of labels and predictions divided by their union, averaged over classes.

    Args:
        labels: The labels of a batch, integers from 0 to `num_classes` - 1.
        predictions: The predicted classes, of the same shape.
        num_classes: The number of classes.
        weights: The weight of each element, with the same shape. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The mean so far, over the classes seen, and an operation that adds the batch and returns the
        updated table of counts.

    Raises:
        ValueError: If shapes do not match.
    """
    truth, guesses = ops.convert_to_tensor(labels), ops.convert_to_tensor(predictions)
    with ops.variable_scope(name, "mean_iou", values=[guesses, truth, weights]):
        guesses.shape.assert_is_compatible_with(truth.shape)
        table = metric_variable(
            [num_classes, num_classes], dtypes.float64, "total_confusion_matrix"
        )
        each = None if weights is None else _flat(ops.convert_to_tensor(weights))
        counts = ops.confusion_matrix(
            _flat(ops.cast(truth, dtypes.int64)),
            _flat(ops.cast(guesses, dtypes.int64)),
            num_classes,
            dtypes.float64,
            each,
        )
        update = ops.assign_add(table, counts)
        value = _mean_of_quotients(table.value(), "mean_iou")
        return published(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of each class's labels that were predicted, averaged over classes.

    Args:
        labels: The labels of a batch, integers from 0 to `num_classes` - 1.
        predictions: The predicted classes, of the same shape.
        num_classes: The number of classes.
        weights: The weight of each element, with the same shape. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The mean so far, and an operation that adds the batch and returns the new accuracy of each
        class.

    Raises:
        ValueError: If shapes do not match.
    """
    truth, guesses = ops.convert_to_tensor(labels), ops.convert_to_tensor(predictions)
    with ops.variable_scope(name, "mean_accuracy", values=[guesses, truth, weights]):
        truth = ops.cast(truth, dtypes.int64)
        guesses.shape.assert_is_compatible_with(truth.shape)
        truth, guesses = _flat(truth), _flat(guesses)
        total = metric_variable([num_classes], name="total")
        count = metric_variable([num_classes], name="count")
        each = ops.ones([ops.size(truth)], dtypes.float32)
        if guesses.dtype.base_dtype != truth.dtype.base_dtype:
            guesses = ops.cast(guesses, truth.dtype.base_dtype)
        is_correct = ops.cast(ops.equal(guesses, truth), dtypes.float32)
        if weights is not None:
            weight = ops.cast(_flat(ops.convert_to_tensor(weights)), dtypes.float32)
            is_correct, each = ops.multiply(is_correct, weight), ops.multiply(each, weight)
        all_of_class = ops.unsorted_segment_sum(each, truth, num_classes)
        found_of_class = ops.unsorted_segment_sum(is_correct, truth, num_classes)
        update_total = ops.assign_add(total, all_of_class)
        update_count = ops.assign_add(count, found_of_class)
        shares = ops.div_no_nan(count, ops.maximum(total, 0.0))
        value = ops.reduce_mean(shares, name="mean_accuracy")
        update = ops.div_no_nan(update_count, ops.maximum(update_total, 0.0), name="update_op")
        return published(value, update, metrics_collections, updates_collections)


def _flat(tensor: Tensor) -> Tensor:
    return tensor if tensor.shape.rank == 1 else ops.reshape(tensor, [-1])


def _mean_of_quotients(table: Tensor, name: str) -> Tensor:
    rows = ops.cast(ops.reduce_sum(table, 0), dtypes.float32)
    columns = ops.cast(ops.reduce_sum(table, 1), dtypes.float32)
    both = ops.cast(ops.matrix_diag_part(table), dtypes.float32)
    union = ops.subtract(ops.add(rows, columns), both)
    # Classes that never occurred count neither as correct nor as wrong.
    num_classes = ops.reduce_sum(ops.cast(ops.not_equal(union, 0.0), dtypes.float32))
    union = ops.where(ops.greater(union, 0.0), union, ops.ones_like(union))
    total = ops.reduce_sum(ops.realdiv(both, union), name=name)
    is_any = ops.greater(num_classes, 0.0)
    return ops.where(is_any, ops.realdiv(total, num_classes), 0.0)
