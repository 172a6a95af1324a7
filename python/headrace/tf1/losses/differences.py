"""Losses for regression: differences, distances, likelihoods.

Source: `tf.losses.absolute_difference`, `mean_squared_error`, `huber_loss` and similar functions of
TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import GraphKeys, Tensor, TensorLike, name_scope
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one
from headrace.tf1.losses.reduction import (
    Reduction,
    add_loss,
    compute_weighted_loss,
    num_present,
)
from headrace.tf1.ops.math.weights import checked_weights

__all__ = [
    "absolute_difference",
    "cosine_distance",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "signed_margins",
]


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the absolute differences between labels and predictions; see `mean_squared_error`."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as inner:
        guesses, truth = _floats(predictions, labels)
        losses = ops.abs(ops.subtract(guesses, truth))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the squared differences between labels and predictions.

    Args:
        labels: The labels.
        predictions: The predictions, of the same shape.
        weights: See `compute_weighted_loss`.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Returns:
        A float32 scalar, or a tensor with the shape of `labels` for `Reduction.NONE`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as inner:
        guesses, truth = _floats(predictions, labels)
        losses = ops.squared_difference(guesses, truth)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Returns the squared differences between the errors of all pairs of elements in an example.

    Args:
        labels: The labels, (batch, …).
        predictions: The predictions, of the same shape.
        weights: A scalar, or one number per example, with as many axes as `labels`.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    _check_given(labels=labels, predictions=predictions)
    default = "mean_pairwise_squared_error"
    with name_scope(scope, default, [predictions, labels, weights]):
        guesses, truth = _floats(predictions, labels)
        each = ops.cast(checked_weights(weights, truth), dtypes.float32)
        errors = ops.subtract(guesses, truth)
        axes = ops.range(1, ops.rank(errors))
        count = num_present(errors, each, per_batch=True)
        fewer = ops.subtract(count, 1.0)
        squares = ops.reduce_sum(ops.square(errors), axes, keepdims=True)
        first = ops.div_no_nan(squares, ops.maximum(fewer, 0.0), name="value")
        sums = ops.square(ops.reduce_sum(errors, axes, keepdims=True))
        pairs = ops.maximum(ops.multiply(count, fewer), 0.0)
        second = ops.div_no_nan(sums, pairs, name="value")
        twice = ops.subtract(ops.multiply(2.0, first), ops.multiply(2.0, second))
        loss = ops.reduce_sum(ops.multiply(twice, each))
        is_any = ops.greater(ops.reduce_sum(count), 0.0)
        loss = ops.where(is_any, loss, ops.zeros_like(loss), name="value")
        add_loss(loss, loss_collection)
        return loss


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Returns one minus the dot product of labels and predictions, which are unit vectors.

    Args:
        labels: The labels.
        predictions: The predictions, of the same shape.
        axis: The axis of the vectors, which is kept with size 1.
        weights: See `compute_weighted_loss`.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.
        dim: The old name of `axis`.

    Raises:
        ValueError: If shapes do not match, an argument is None, or `axis` is missing.
    """
    chosen = only_one("axis", axis, "dim", dim)
    if chosen is None:
        raise ValueError("You must specify 'axis'.")
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as inner:
        guesses, truth = _floats(predictions, labels)
        products = ops.multiply(guesses, truth)
        losses = ops.subtract(1.0, ops.reduce_sum(products, [chosen], keepdims=True))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns how far predictions are below a margin of 1 on the correct side.

    Args:
        labels: The labels, 0 or 1.
        logits: The predictions, of the same shape. A number above 0 predicts 1.
        weights: See `compute_weighted_loss`.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    _check_given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as inner:
        losses = signed_margins(logits, labels)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def signed_margins(logits: TensorLike, labels: TensorLike) -> Tensor:
    """Returns the amount by which each prediction misses a margin of 1 on the correct side."""
    guesses, truth = _floats(logits, labels)
    ones = ops.ones_like(truth)
    signs = ops.subtract(ops.multiply(2.0, truth), ones)
    return ops.relu(ops.subtract(ones, ops.multiply(signs, guesses)))


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns half the squared difference if it is small, and a linear loss otherwise.

    Args:
        labels: The labels.
        predictions: The predictions, of the same shape.
        weights: See `compute_weighted_loss`.
        delta: The absolute difference above which the loss is linear.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as inner:
        guesses, truth = _floats(predictions, labels)
        sizes = ops.abs(ops.subtract(guesses, truth))
        small = ops.minimum(sizes, delta)
        rest = ops.subtract(sizes, small)
        squares = ops.multiply(0.5, ops.multiply(small, small))
        losses = ops.add(squares, ops.multiply(delta, rest))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the negative logarithm of the predicted probability of the labels.

    Args:
        labels: The labels, from 0 to 1.
        predictions: The predicted probabilities of 1, of the same shape.
        weights: See `compute_weighted_loss`.
        epsilon: Added to each probability, so that the logarithm is finite.
        scope: Name of the scope.
        loss_collection: The collection to add the loss to, or None for no collection.
        reduction: One of `Reduction`.

    Raises:
        ValueError: If shapes do not match, or an argument is None.
    """
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as inner:
        guesses, truth = _floats(predictions, labels)
        is_one = ops.multiply(truth, ops.log(ops.add(guesses, epsilon)))
        rest = ops.add(ops.subtract(1.0, guesses), epsilon)
        is_zero = ops.multiply(ops.subtract(1.0, truth), ops.log(rest))
        losses = ops.subtract(ops.negative(is_one), is_zero)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def _check_given(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _floats(predictions: TensorLike, labels: TensorLike) -> tuple[Tensor, Tensor]:
    guesses = ops.cast(predictions, dtypes.float32)
    truth = ops.cast(labels, dtypes.float32)
    guesses.shape.assert_is_compatible_with(truth.shape)
    return guesses, truth
