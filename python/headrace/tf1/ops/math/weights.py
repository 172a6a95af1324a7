"""Matches the weights of metrics and losses to the shape of their values.

Source: the weights of `tf.metrics` and `tf.losses` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import ones_like
from headrace.ops.array.placeholder import identity
from headrace.ops.array.reshape import expand_dims, squeeze
from headrace.ops.array.shape import rank, shape
from headrace.ops.control.cond import cond
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import like
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import multiply, subtract
from headrace.ops.math.compare import equal
from headrace.ops.math.histogram import remove_squeezable_dimensions

__all__ = ["aligned", "aligned_weights", "broadcast_weights", "checked_weights"]


def aligned(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Adds or removes a last axis of size 1 if the ranks of the three tensors differ by one.

    Args:
        predictions: The predictions.
        labels: The labels.
        weights: The weights, or None.

    Returns:
        Predictions and labels of the same rank, and weights of this rank or None.

    Raises:
        ValueError: If the shapes of labels and predictions cannot be the same.
    """
    truth, guesses = remove_squeezable_dimensions(labels, predictions)
    guesses.shape.assert_is_compatible_with(truth.shape)
    each = None if weights is None else aligned_weights(weights, guesses)
    return guesses, truth, each


def aligned_weights(weights: TensorLike, values: Tensor) -> Tensor:
    """Adds or removes a last axis of size 1 if the ranks of weights and values differ by one."""
    each = convert_to_tensor(weights)
    ranks = each.shape.rank, values.shape.rank
    if ranks[0] == 0:
        return each
    if ranks[0] is None or ranks[1] is None:
        return _aligned_in_a_run(each, values)
    if ranks[0] - ranks[1] == 1:
        return squeeze(each, [-1])
    return expand_dims(each, -1) if ranks[1] - ranks[0] == 1 else each


def _aligned_in_a_run(weights: Tensor, values: Tensor) -> Tensor:
    number = rank(weights)
    difference = subtract(number, rank(values))
    may_squeeze = weights.shape.rank is None or weights.shape[-1].is_compatible_with(1)

    def longer() -> Tensor:
        return squeeze(weights, [-1]) if may_squeeze else weights

    def shorter() -> Tensor:
        is_shorter = equal(difference, -1)
        result: Tensor = cond(
            is_shorter, lambda: expand_dims(weights, -1), lambda: identity(weights)
        )
        return result

    def other() -> Tensor:
        result: Tensor = cond(equal(difference, 1), longer, shorter)
        return result

    result: Tensor = cond(equal(number, 0), lambda: identity(weights), other)
    return result


def broadcast_weights(weights: TensorLike, values: Tensor) -> Tensor:
    """Broadcasts weights to the shape of their values.

    Args:
        weights: A scalar, or a tensor of the same rank as `values`, with the same sizes or 1.
        values: The tensor to weight.

    Returns:
        One weight per value.

    Raises:
        InvalidArgumentError: At run time, if the shapes do not match.
        ValueError: If the static shapes do not match.
    """
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        tensor = checked_weights(weights, values)
        target_shape = tensor.shape
        if target_shape.is_fully_defined() and target_shape.as_list() == values.shape:
            return tensor
        return multiply(tensor, ones_like(values, dtype=tensor.dtype), name=scope)


def checked_weights(weights: TensorLike, values: Tensor) -> Tensor:
    """Returns weights after checking that their shape matches the values.

    Args:
        weights: See `broadcast_weights`.
        values: The tensor to weight.

    Raises:
        ValueError: If the static shapes do not match.
    """
    tensor = convert_to_tensor(weights, name="weights")
    return tensor if _fit(tensor.shape, values.shape) else check_in_run(tensor, shape(values))


def check_in_run(weights: Tensor, sizes: Tensor, name: str | None = None) -> Tensor:
    """Returns weights whose shape is checked in each run."""

    def infer(each: Tensor, _sizes: Tensor) -> Outputs:
        return like(each)

    def kernel(each: Array, sizes: Array) -> Array:
        try:
            _fit(TensorShape(each.shape), TensorShape(sizes.tolist()))
        except ValueError as error:
            fail(str(error))
        return each

    inputs = [Input("weights", weights), Input("sizes", sizes, var="S")]
    return apply_op("CheckedWeights", inputs, infer, name=name, kernel=kernel).outputs[0]


def _fit(weights: TensorShape, values: TensorShape) -> bool:
    """Returns whether weights are known to fit. Raises ValueError if they certainly don't fit."""
    if weights.rank == 0:
        return True
    if weights.rank is None or values.rank is None:
        return False
    shapes = f"values.shape={values}. weights.shape={weights}."
    if weights.rank != values.rank:
        raise ValueError(
            "weights can not be broadcast to values. values.rank="
            f"{values.rank}. weights.rank={weights.rank}. {shapes}"
        )
    is_known = True
    for axis, (weight, value) in enumerate(zip(weights.as_list(), values.as_list(), strict=True)):
        if weight is None or (value is None and weight != 1):
            is_known = False
        elif weight not in (1, value):
            raise ValueError(
                f"weights can not be broadcast to values. Mismatch at dim {axis}. {shapes}"
            )
    return is_known


define("CheckedWeights")
