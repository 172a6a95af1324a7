"""Metrics that count correct and wrong predictions for several thresholds at once.

Source: `tf.metrics.auc`, `precision_at_thresholds`, `sensitivity_at_specificity` and similar
functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, control_dependencies
from headrace.tf1 import ops
from headrace.tf1.metrics.accumulators import Collections, Metric, metric_variable, published
from headrace.tf1.ops.math.weights import aligned, broadcast_weights

__all__ = [
    "auc",
    "false_negatives_at_thresholds",
    "false_positives_at_thresholds",
    "precision_at_thresholds",
    "recall_at_thresholds",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "true_negatives_at_thresholds",
    "true_positives_at_thresholds",
]

# Avoids division by 0, and moves the outermost thresholds outside the range of predictions.
_EPSILON = 1e-7

# Each count's label and prediction.
_KINDS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}

_Counts = dict[str, Tensor]


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """The area under a curve of rates, approximated with thresholds.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, from 0 to 1.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        num_thresholds: The number of evenly spaced thresholds.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        curve: "ROC" (true positives over false positives) or "PR" (precision over recall).
        name: Name of the scope.
        summation_method: "trapezoidal", "careful_interpolation" (for "PR"), "minoring" or
            "majoring".
        thresholds: The thresholds between 0 and 1. Defaults to evenly spaced thresholds.

    Returns:
        The area so far, and an operation that adds the batch and returns the new area.

    Raises:
        ValueError: If shapes do not match, or the curve or the method is invalid.
    """
    with ops.variable_scope(name, "auc", values=[labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        inner = _spread(num_thresholds) if thresholds is None else sorted(thresholds)
        known = [0.0 - _EPSILON, *inner, 1.0 + _EPSILON]
        values, updates = _counts(labels, predictions, known, weights, list(_KINDS))

        def area(counts: _Counts, name: str) -> Tensor:
            return _area(counts, curve, summation_method, name)

        value, update = area(values, "value"), area(updates, "update_op")
        return published(value, update, metrics_collections, updates_collections)


def precision_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of predictions above each threshold that are correct.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, from 0 to 1.
        thresholds: The thresholds.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fractions so far, and an operation that adds the batch and returns the new fractions.

    Raises:
        ValueError: If shapes do not match.
    """
    scope = ops.variable_scope(
        name, "precision_at_thresholds", values=[predictions, labels, weights]
    )
    with scope:
        kinds = ["true_positives", "false_positives"]
        values, updates = _counts(labels, predictions, thresholds, weights, kinds)
        value = _quotient(values, kinds[0], kinds[1], "precision_value")
        update = _quotient(updates, kinds[0], kinds[1], "precision_update_op")
        return published(value, update, metrics_collections, updates_collections)


def recall_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of true labels with a prediction above each threshold.

    The arguments are the same as for `precision_at_thresholds`.
    """
    with ops.variable_scope(name, "recall_at_thresholds", values=[predictions, labels, weights]):
        kinds = ["true_positives", "false_negatives"]
        values, updates = _counts(labels, predictions, thresholds, weights, kinds)
        value = _quotient(values, kinds[0], kinds[1], "recall_value")
        update = _quotient(updates, kinds[0], kinds[1], "recall_update_op")
        return published(value, update, metrics_collections, updates_collections)


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of true labels that are predicted, at a given specificity.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, from 0 to 1.
        specificity: The target specificity: the fraction of negative labels that are predicted
            negative, from 0 to 1.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        num_thresholds: The number of thresholds to use.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.

    Raises:
        ValueError: If shapes do not match, or `specificity` is not from 0 to 1.
    """
    if specificity < 0 or specificity > 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def share(counts: _Counts, name: str) -> Tensor:
        result = _quotient(counts, "true_negatives", "false_positives")
        index = ops.cast(ops.argmin(ops.abs(ops.subtract(result, specificity)), 0), dtypes.int32)
        return _quotient_at(counts, "true_positives", "false_negatives", index, name)

    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights, num_thresholds
    return _at_a_share("sensitivity_at_specificity", share, *arguments, collections, name)


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of false labels that are predicted negative, at a given sensitivity.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, from 0 to 1.
        sensitivity: The target sensitivity: the fraction of true labels that are predicted, from 0
            to 1.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        num_thresholds: The number of thresholds to use.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The fraction so far, and an operation that adds the batch and returns the new fraction.

    Raises:
        ValueError: If shapes do not match, or `sensitivity` is not from 0 to 1.
    """
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def share(counts: _Counts, name: str) -> Tensor:
        result = _quotient(counts, "true_positives", "false_negatives")
        distances = ops.abs(ops.subtract(result, sensitivity))
        is_nearest = ops.cast(ops.equal(distances, ops.reduce_min(distances)), dtypes.int64)
        # The running count first reaches its maximum at the last of the equally near thresholds.
        index = ops.cast(ops.argmax(ops.cumsum(is_nearest), 0), dtypes.int32)
        return _quotient_at(counts, "true_negatives", "false_positives", index, name)

    collections = metrics_collections, updates_collections
    arguments = labels, predictions, weights, num_thresholds
    return _at_a_share("specificity_at_sensitivity", share, *arguments, collections, name)


def true_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of predictions above each threshold that are correct.

    Args:
        labels: The labels of a batch, which are converted to bool.
        predictions: The predictions, of the same shape, from 0 to 1.
        thresholds: The thresholds.
        weights: The weight of each element: a scalar, or a tensor that is broadcast. Defaults to 1.
        metrics_collections: The collections to add the value to.
        updates_collections: The collections to add the update to.
        name: Name of the scope.

    Returns:
        The numbers so far, and an operation that adds the batch and returns the new numbers.

    Raises:
        ValueError: If shapes do not match.
    """
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _count("true_positives", *arguments, collections, name)


def true_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of predictions up to each threshold that are correct.

    See `true_positives_at_thresholds`.
    """
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _count("true_negatives", *arguments, collections, name)


def false_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of predictions above each threshold that are wrong.

    See `true_positives_at_thresholds`.
    """
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _count("false_positives", *arguments, collections, name)


def false_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of predictions up to each threshold that are wrong.

    See `true_positives_at_thresholds`.
    """
    collections = metrics_collections, updates_collections
    arguments = labels, predictions, thresholds, weights
    return _count("false_negatives", *arguments, collections, name)


def _count(
    kind: str,
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    with ops.variable_scope(name, kind, values=[predictions, labels, weights]):
        values, updates = _counts(labels, predictions, thresholds, weights, [kind])
        return published(ops.identity(values[kind]), updates[kind], *collections)


def _at_a_share(
    default_name: str,
    share: Callable[[_Counts, str], Tensor],
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None,
    num_thresholds: int,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    with ops.variable_scope(name, default_name, values=[predictions, labels, weights]):
        thresholds = [0.0 - _EPSILON, *_spread(num_thresholds), 1.0 + _EPSILON]
        values, updates = _counts(labels, predictions, thresholds, weights, list(_KINDS))
        return published(share(values, "value"), share(updates, "update_op"), *collections)


def _spread(num_thresholds: int) -> list[float]:
    """Returns evenly spaced thresholds, without the outermost ones."""
    return [(number + 1) * 1.0 / (num_thresholds - 1) for number in range(num_thresholds - 2)]


def _counts(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
    kinds: Sequence[str],
) -> tuple[_Counts, _Counts]:
    """Returns each threshold's counts of predictions by kind, before and after the batch."""
    checked = ops.cast(predictions, dtypes.float32)
    in_range = "predictions must be in [0, 1]"
    checks = [
        ops.assert_greater_equal(checked, 0.0, message=in_range),
        ops.assert_less_equal(checked, 1.0, message=in_range),
    ]
    with control_dependencies(checks):
        guesses, truth, each = aligned(
            ops.cast(predictions, dtypes.float32), ops.cast(labels, dtypes.bool), weights
        )
        flat = ops.reshape(guesses, [1, -1])
        is_label = ops.reshape(truth, [1, -1])
        bounds = ops.expand_dims(ops.constant(list(thresholds), dtypes.float32), 1)
        is_above = ops.greater(flat, bounds)
        weight = None
        if each is not None:
            full = broadcast_weights(ops.cast(each, dtypes.float32), guesses)
            weight = ops.reshape(full, [1, -1])
    values: _Counts = {}
    updates: _Counts = {}
    for kind in kinds:
        wants_label, wants_above = _KINDS[kind]
        variable = metric_variable([len(thresholds)], name=kind)
        is_counted = ops.logical_and(
            is_label if wants_label else ops.logical_not(is_label),
            is_above if wants_above else ops.logical_not(is_above),
        )
        counted = ops.cast(is_counted, dtypes.float32)
        if weight is not None:
            counted = ops.multiply(counted, weight)
        values[kind] = variable.value()
        updates[kind] = ops.assign_add(variable, ops.reduce_sum(counted, 1))
    return values, updates


def _quotient(counts: _Counts, kind: str, other: str, name: str | None = None) -> Tensor:
    divisor = ops.add(ops.add(counts[kind], counts[other]), _EPSILON)
    return ops.realdiv(counts[kind], divisor, name=name)


def _quotient_at(counts: _Counts, kind: str, other: str, index: Tensor, name: str) -> Tensor:
    chosen = {key: counts[key][index] for key in (kind, other)}
    return _quotient(chosen, kind, other, name)


def _area(counts: _Counts, curve: str, method: str, name: str) -> Tensor:
    if method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {method}")
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(counts)
    epsilon = 1.0e-6
    right, missed = counts["true_positives"], counts["false_negatives"]
    wrong, left = counts["false_positives"], counts["true_negatives"]
    result = ops.realdiv(ops.add(right, epsilon), ops.add(ops.add(right, missed), epsilon))
    if curve == "ROC":
        x, y = ops.realdiv(wrong, ops.add(ops.add(wrong, left), epsilon)), result
    else:
        x = result
        y = ops.realdiv(ops.add(right, epsilon), ops.add(ops.add(right, wrong), epsilon))
    widths = ops.subtract(x[:-1], x[1:])
    if method == "minoring":
        heights = ops.minimum(y[:-1], y[1:])
    elif method == "majoring":
        heights = ops.maximum(y[:-1], y[1:])
    else:
        heights = ops.realdiv(ops.add(y[:-1], y[1:]), 2.0)
    return ops.reduce_sum(ops.multiply(widths, heights), name=name)


def _interpolated(counts: _Counts) -> Tensor:
    """Returns the area under the precision-recall curve, interpolated as by Davis and Goadrich.

    Source: Davis, Goadrich: The relationship between precision-recall and ROC curves. ICML 2006.
    """
    right, missed = counts["true_positives"], counts["false_negatives"]
    above = ops.add(right, counts["false_positives"])
    gained = ops.subtract(right[:-1], right[1:])
    slope = ops.div_no_nan(gained, ops.subtract(above[:-1], above[1:]), name="prec_slope")
    intercept = ops.subtract(right[1:], ops.multiply(slope, above[1:]))
    is_any = ops.logical_and(ops.greater(above[:-1], 0.0), ops.greater(above[1:], 0.0))
    ratio = ops.div_no_nan(above[:-1], ops.maximum(above[1:], 0.0), name="recall_relative_ratio")
    logarithm = ops.log(ops.where(is_any, ratio, ops.ones_like(above[1:])))
    numerator = ops.multiply(slope, ops.add(gained, ops.multiply(intercept, logarithm)))
    labels = ops.maximum(ops.add(right[1:], missed[1:]), 0.0)
    parts = ops.div_no_nan(numerator, labels, name="pr_auc_increment")
    return ops.reduce_sum(parts, name="interpolate_pr_auc")
