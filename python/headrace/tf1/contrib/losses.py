"""`tf.contrib.losses` and `tf.contrib.slim.losses`: losses whose first argument is the predictions.

Source: `tf.contrib.losses` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph import GraphKeys, Tensor, TensorLike, name_scope
from headrace.tf1 import losses, ops
from headrace.tf1.losses.differences import signed_margins
from headrace.tf1.namespace import namespace

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]

add_loss = losses.add_loss
get_losses = losses.get_losses
get_regularization_losses = losses.get_regularization_losses


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """Calls `tf.losses.get_total_loss`.

    Raises:
        ValueError: If there are no losses.
    """
    return losses.get_total_loss(add_regularization_losses, name)


def compute_weighted_loss(
    losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Multiplies losses by weights and returns the mean over the losses with nonzero weights.

    Args:
        losses: The losses, (batch, …).
        weights: A scalar, or weights for the first axes.
        scope: Name of the scope.

    Raises:
        ValueError: If the shapes do not match.
    """
    with name_scope(scope, "weighted_loss", [losses, weights]) as inner:
        tensor = ops.convert_to_tensor(losses)
        return _weighted_loss(tensor, _of_rank(weights, tensor), inner)


def absolute_difference(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.absolute_difference`. The predictions are the first argument."""
    return losses.absolute_difference(
        _given(labels), predictions, _fit(weights, predictions), scope
    )


def mean_squared_error(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.mean_squared_error`. The predictions are the first argument."""
    return losses.mean_squared_error(_given(labels), predictions, _fit(weights, predictions), scope)


def mean_pairwise_squared_error(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.mean_pairwise_squared_error`. The predictions are the first argument."""
    each = _fit(weights, predictions)
    return losses.mean_pairwise_squared_error(_given(labels), predictions, each, scope)


def cosine_distance(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Calls `tf.losses.cosine_distance`. The predictions are the first argument."""
    each = _fit(weights, predictions)
    return losses.cosine_distance(_given(labels), predictions, axis, each, scope, dim=dim)


def hinge_loss(
    logits: TensorLike, labels: TensorLike | None = None, scope: str | None = None
) -> Tensor:
    """Returns how far each prediction is below a margin of 1, without adding it to a collection.

    Args:
        logits: The predictions. A number above 0 predicts 1.
        labels: The labels, 0 or 1, of the same shape.
        scope: Name of the scope.

    Raises:
        ValueError: If the shapes differ.
    """
    with name_scope(scope, "hinge_loss", [logits, labels]):
        return signed_margins(logits, _given(labels))


def log_loss(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.log_loss`. The predictions are the first argument."""
    return losses.log_loss(_given(labels), predictions, _fit(weights, predictions), epsilon, scope)


def sigmoid_cross_entropy(
    logits: TensorLike,
    multi_class_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.sigmoid_cross_entropy`. The predictions are the first argument."""
    each = _fit(weights, logits)
    return losses.sigmoid_cross_entropy(multi_class_labels, logits, each, label_smoothing, scope)


def softmax_cross_entropy(
    logits: TensorLike,
    onehot_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Calls `tf.losses.softmax_cross_entropy`. The predictions are the first argument."""
    return losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Calls `tf.losses.sparse_softmax_cross_entropy`. The predictions are the first argument."""
    return losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)


def _weighted_loss(tensor: Tensor, weights: Tensor, scope: str) -> Tensor:
    return losses.compute_weighted_loss(tensor, weights, scope, GraphKeys.LOSSES)


def _given(labels: TensorLike | None) -> Any:
    """Passes on None, which `tf.losses` rejects with the name of the argument."""
    return labels


def _fit(weights: TensorLike, predictions: TensorLike) -> Tensor:
    return _of_rank(weights, ops.convert_to_tensor(predictions))


def _of_rank(weights: TensorLike, values: Tensor) -> Tensor:
    """Adds axes to weights, so that they have as many axes as the values."""
    each = ops.convert_to_tensor(weights)
    for _ in range((values.shape.rank or 0) - (each.shape.rank or 0) if each.shape.rank else 0):
        each = ops.expand_dims(each, -1)
    return each


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
