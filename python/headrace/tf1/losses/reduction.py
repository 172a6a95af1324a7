"""Reduces losses to one number and adds them to a collection.

Source: `tf.losses.Reduction`, `compute_weighted_loss`, `get_total_loss` and similar functions of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.core import dtypes
from headrace.graph import (
    GraphKeys,
    Tensor,
    TensorLike,
    add_to_collection,
    get_collection,
    name_scope,
)
from headrace.tf1 import ops
from headrace.tf1.ops.math.weights import broadcast_weights, checked_weights

__all__ = [
    "Reduction",
    "add_loss",
    "compute_weighted_loss",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "num_present",
]


class Reduction:
    """Ways to reduce weighted losses.

    Attributes:
        NONE: No reduction.
        SUM: The sum of the losses.
        SUM_OVER_BATCH_SIZE: The sum, divided by the number of losses.
        MEAN: The sum, divided by the sum of the weights.
        SUM_BY_NONZERO_WEIGHTS: The sum, divided by the number of weights that are not zero.
        SUM_OVER_NONZERO_WEIGHTS: The old name of `SUM_BY_NONZERO_WEIGHTS`.
    """

    NONE: Final = "none"
    SUM: Final = "weighted_sum"
    SUM_OVER_BATCH_SIZE: Final = "weighted_sum_over_batch_size"
    MEAN: Final = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS: Final = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS: Final = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return (
            *(cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE),
            *(cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS),
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if a value is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Multiplies losses by weights and reduces them.

    Args:
        losses: The losses, of any shape.
        weights: A scalar, or a tensor of the same rank as `losses`, with the same sizes or 1.
        scope: Name of the scope.
        loss_collection: The collection to add the result to, or None for no collection.
        reduction: One of `Reduction`.

    Returns:
        A scalar, or a tensor with the shape of `losses` for `Reduction.NONE`.

    Raises:
        ValueError: If the reduction does not exist, or the shapes do not match.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        tensor = ops.convert_to_tensor(losses)
        numbers = ops.cast(tensor, dtypes.float32)
        each = ops.cast(checked_weights(weights, tensor), dtypes.float32)
        loss = weighted = ops.multiply(numbers, each)
        if reduction != Reduction.NONE:
            loss = ops.reduce_sum(weighted)
        if reduction == Reduction.MEAN:
            count = ops.reduce_sum(ops.multiply(ops.ones_like(weighted), each))
            loss = ops.div_no_nan(loss, count, name="value")
        elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
            loss = ops.div_no_nan(loss, num_present(weighted, each), name="value")
        elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
            count = ops.cast(ops.size(weighted, name="num_elements"), dtypes.float32)
            loss = ops.div_no_nan(loss, count, name="value")
        loss = ops.cast(loss, tensor.dtype.base_dtype)
        add_loss(loss, loss_collection)
        return loss


def num_present(losses: Tensor, weights: TensorLike, per_batch: bool = False) -> Tensor:
    """Returns the number of nonzero weights after broadcasting them to the losses.

    Args:
        losses: The losses.
        weights: The weights of the losses.
        per_batch: Whether to count separately for each example. The other axes are kept with size
            1.
    """
    with name_scope(None, "num_present", [losses, weights]) as scope:
        each = ops.cast(weights, dtypes.float32)
        is_absent = ops.equal(each, 0.0)
        present = ops.where(is_absent, ops.zeros_like(each), ops.ones_like(each))
        present = broadcast_weights(present, losses)
        if not per_batch:
            return ops.reduce_sum(present, name=scope)
        axes = ops.range(1, ops.rank(present))
        return ops.reduce_sum(present, axes, keepdims=True, name=scope)


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection. Does nothing if the collection is None."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses in a collection.

    Args:
        scope: A regular expression that must match the start of a name. By default, all losses are
            returned.
        loss_collection: The collection.
    """
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the losses that variable regularizers have added; see `get_losses`."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """Returns the sum of `get_regularization_losses`, or 0 if there are no such losses.

    Args:
        scope: See `get_regularization_losses`.
        name: Name of the operation.
    """
    losses = get_regularization_losses(scope)
    return ops.add_n(losses, name=name) if losses else ops.constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Returns the sum of all losses.

    Args:
        add_regularization_losses: Whether to include the losses of regularizers.
        name: Name of the operation.
        scope: A regular expression that must match the start of a name. Defaults to all losses.

    Raises:
        ValueError: If the collection has no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = [*losses, *get_regularization_losses(scope)]
    return ops.add_n(losses, name=name)
