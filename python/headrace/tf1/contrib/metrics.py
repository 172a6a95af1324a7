"""`tf.contrib.metrics`: metrics whose first argument is the predictions, and sets of metrics.

Source: `tf.contrib.metrics` in TensorFlow 1.15.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.tf1 import metrics, ops
from headrace.tf1.adapters.matrices import confusion_matrix
from headrace.tf1.metrics.accumulators import Collections, Metric
from headrace.tf1.namespace import namespace

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "confusion_matrix",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positives",
    "streaming_false_positives_at_thresholds",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_precision_at_thresholds",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_precision_at_top_k",
    "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives",
    "streaming_true_positives_at_thresholds",
]


def _turned(function: Callable[..., Metric]) -> Callable[..., Metric]:
    """Returns a `tf.metrics` function whose predictions come before the labels."""
    signature = inspect.signature(function)
    labels, predictions, *others = signature.parameters.values()
    own = signature.replace(parameters=[predictions, labels, *others])

    def turned(*args: Any, **kwargs: Any) -> Metric:
        arguments = own.bind(*args, **kwargs).arguments
        return function(**arguments)

    turned.__name__ = turned.__qualname__ = f"streaming_{function.__name__}"
    turned.__doc__ = (
        f"Calls `tf.metrics.{function.__name__}`. The predictions are the first argument."
    )
    turned.__signature__ = own  # type: ignore[attr-defined]
    return turned


streaming_mean = metrics.mean
streaming_mean_tensor = metrics.mean_tensor
streaming_percentage_less = metrics.percentage_below
streaming_accuracy = _turned(metrics.accuracy)
streaming_auc = _turned(metrics.auc)
streaming_false_negatives = _turned(metrics.false_negatives)
streaming_false_negatives_at_thresholds = _turned(metrics.false_negatives_at_thresholds)
streaming_false_positives = _turned(metrics.false_positives)
streaming_false_positives_at_thresholds = _turned(metrics.false_positives_at_thresholds)
streaming_mean_absolute_error = _turned(metrics.mean_absolute_error)
streaming_mean_cosine_distance = _turned(metrics.mean_cosine_distance)
streaming_mean_iou = _turned(metrics.mean_iou)
streaming_mean_relative_error = _turned(metrics.mean_relative_error)
streaming_mean_squared_error = _turned(metrics.mean_squared_error)
streaming_precision = _turned(metrics.precision)
streaming_precision_at_thresholds = _turned(metrics.precision_at_thresholds)
streaming_recall = _turned(metrics.recall)
streaming_recall_at_thresholds = _turned(metrics.recall_at_thresholds)
streaming_root_mean_squared_error = _turned(metrics.root_mean_squared_error)
streaming_sensitivity_at_specificity = _turned(metrics.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _turned(metrics.average_precision_at_k)
streaming_sparse_precision_at_k = _turned(metrics.precision_at_k)
streaming_sparse_recall_at_k = _turned(metrics.recall_at_k)
streaming_specificity_at_sensitivity = _turned(metrics.specificity_at_sensitivity)
streaming_true_negatives = _turned(metrics.true_negatives)
streaming_true_negatives_at_thresholds = _turned(metrics.true_negatives_at_thresholds)
streaming_true_positives = _turned(metrics.true_positives)
streaming_true_positives_at_thresholds = _turned(metrics.true_positives_at_thresholds)


def streaming_sparse_precision_at_top_k(
    top_k_predictions: TensorLike,
    labels: TensorLike | ops.SparseTensor,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Calls `tf.metrics.precision_at_top_k`. The predictions are the first argument."""
    collections = metrics_collections, updates_collections
    arguments = labels, top_k_predictions, None, class_id, weights
    return metrics.precision_at_top_k(*arguments, *collections, name)


def streaming_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Returns the fraction of labels that are among the k largest predictions, including ties.

    Args:
        predictions: float32, (batch, classes): one number per class.
        labels: The class of each example, an integer vector.
        k: The number of largest predictions to consider.
        weights: The weight of each example. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.
    """
    is_found = ops.cast(ops.in_top_k(predictions, labels, k), dtypes.float32)
    default = name or f"recall_at_{k}"
    return metrics.mean(is_found, weights, metrics_collections, updates_collections, default)


def accuracy(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the fraction of predictions in this batch that equal their labels.

    Args:
        predictions: Integers, strings or bools.
        labels: The labels, of the same shape and type.
        weights: The weight of each example. Defaults to 1.
        name: Name of the scope.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: If types or shapes differ, or the type is not supported.
    """
    guesses, truth = ops.convert_to_tensor(predictions), ops.convert_to_tensor(labels)
    dtype = guesses.dtype.base_dtype
    if not (dtype.is_integer or dtype in (dtypes.bool, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, given: {dtype!r}")
    if dtype != truth.dtype.base_dtype:
        raise ValueError(
            "Dtypes of predictions and labels should match. Given: predictions "
            f"({guesses.dtype!r}) and labels ({truth.dtype!r})"
        )
    guesses.shape.assert_is_compatible_with(truth.shape)
    with name_scope(name, "accuracy", [guesses, truth]):
        is_correct = ops.cast(ops.equal(guesses, truth), dtypes.float32)
        if weights is None:
            return ops.reduce_mean(is_correct)
        each = ops.cast(weights, dtypes.float32)
        counted = ops.multiply(ops.ones_like(is_correct), each)
        right = ops.reduce_sum(ops.multiply(is_correct, each))
        return ops.div_no_nan(right, ops.reduce_sum(counted))


def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the values and the updates of the given metrics.

    Raises:
        ValueError: If there are no metrics.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(
    names_to_tuples: Mapping[str, Metric],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Returns two dicts with the values and the updates of the given metrics by name.

    Raises:
        ValueError: If there are no metrics.
    """
    values, updates = aggregate_metrics(*names_to_tuples.values())
    names = list(names_to_tuples)
    return dict(zip(names, values, strict=True)), dict(zip(names, updates, strict=True))


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
