"""Losses for classification: cross entropies for predictions given as logits.

Source: `tf.losses.sigmoid_cross_entropy`, `softmax_cross_entropy` and
`sparse_softmax_cross_entropy` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import GraphKeys, Tensor, TensorLike, name_scope
from headrace.ops.math.histogram import remove_squeezable_dimensions
from headrace.tf1 import ops
from headrace.tf1.losses.reduction import Reduction, compute_weighted_loss

__all__ = ["sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy"]


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of independent classes.

    Args:
        multi_class_labels: The probability of each class, (batch, classes), from 0 to 1.
        logits: The predictions, of the same shape and a floating-point type.
        weights: See `compute_weighted_loss`.
        label_smoothing: The fraction by which labels are moved towards 1/2, from 0 to 1.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    if multi_class_labels is None:
        raise ValueError("multi_class_labels must not be None.")
    if logits is None:
        raise ValueError("logits must not be None.")
    default = "sigmoid_cross_entropy_loss"
    with name_scope(scope, default, [logits, multi_class_labels, weights]) as inner:
        numbers = ops.convert_to_tensor(logits)
        truth = ops.cast(multi_class_labels, numbers.dtype.base_dtype)
        numbers.shape.assert_is_compatible_with(truth.shape)
        if label_smoothing > 0:
            truth = ops.add(ops.multiply(truth, 1 - label_smoothing), 0.5 * label_smoothing)
        losses = ops.sigmoid_cross_entropy_with_logits(truth, numbers, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of mutually exclusive classes.

    Args:
        onehot_labels: The probability of each class, (batch, classes).
        logits: The predictions, of the same shape and a floating-point type.
        weights: A scalar, or one number per example.
        label_smoothing: The fraction by which probabilities are moved towards equal probabilities,
            from 0 to 1.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    if onehot_labels is None:
        raise ValueError("onehot_labels must not be None.")
    if logits is None:
        raise ValueError("logits must not be None.")
    default = "softmax_cross_entropy_loss"
    with name_scope(scope, default, [logits, onehot_labels, weights]) as inner:
        numbers = ops.convert_to_tensor(logits)
        dtype = numbers.dtype.base_dtype
        truth = ops.cast(onehot_labels, dtype)
        numbers.shape.assert_is_compatible_with(truth.shape)
        if label_smoothing > 0:
            num_classes = ops.cast(ops.shape(truth)[-1], dtype)
            share = ops.realdiv(ops.constant(label_smoothing, dtype), num_classes)
            truth = ops.add(ops.multiply(truth, 1.0 - label_smoothing), share)
        truth = ops.stop_gradient(truth, name="labels_stop_gradient")
        losses = ops.softmax_cross_entropy_with_logits(truth, numbers, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of mutually exclusive classes, given the class numbers.

    Args:
        labels: The class of each example, int32 or int64: (batch,) or (batch, 1).
        logits: The predictions, (batch, classes), of a floating-point type.
        weights: A scalar, or one number per example.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    if labels is None:
        raise ValueError("labels must not be None.")
    if logits is None:
        raise ValueError("logits must not be None.")
    default = "sparse_softmax_cross_entropy_loss"
    with name_scope(scope, default, [logits, labels, weights]) as inner:
        truth, numbers = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        each = _of_rank(ops.convert_to_tensor(weights), truth)
        losses = ops.sparse_softmax_cross_entropy_with_logits(truth, numbers, name="xentropy")
        return compute_weighted_loss(losses, each, inner, loss_collection, reduction)


def _of_rank(weights: Tensor, labels: Tensor) -> Tensor:
    """Removes a last axis of size 1 from weights if the labels do not have it."""
    ranks = weights.shape.rank, labels.shape.rank
    if ranks[0] is not None and ranks[1] is not None:
        return ops.squeeze(weights, [-1]) if ranks[0] == ranks[1] + 1 else weights
    if ranks[0] == 0 or (ranks[0] and not weights.shape[-1].is_compatible_with(1)):
        return weights
    is_longer = ops.equal(1, ops.subtract(ops.rank(weights), ops.rank(labels)))
    result: Tensor = ops.cond(
        is_longer, lambda: ops.squeeze(weights, [-1]), lambda: ops.identity(weights)
    )
    return result
