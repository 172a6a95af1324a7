"""Activations and normalisation: ReLU, softmax, L2 norm, mean and variance.

Source: `tf.nn.relu`, `tf.nn.softmax`, `tf.nn.l2_normalize` and `tf.nn.moments` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS, REALS, reals_by_either, unary
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import maximum, multiply, rsqrt, square, squared_difference
from headrace.ops.math.cast import cast
from headrace.ops.math.reduce import reduce_mean, reduce_sum

__all__ = ["l2_normalize", "moments", "relu", "softmax"]


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns x, or 0 where x is negative."""
    return unary(
        "Relu",
        features,
        name,
        allowed=REALS,
        parameter="features",
    )


def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Returns exp(logits), divided by its sum along an axis.

    Args:
        logits: A float tensor of rank 1 or more.
        axis: The axis. Defaults to the last.
        name: Name of the operation.

    Raises:
        ValueError: If `logits` is a scalar.
        InvalidArgumentError: At run time, if the axis does not exist.
    """
    dim = -1 if axis is None else axis
    tensor = convert_to_tensor(logits)
    rank = tensor.shape.rank
    if rank and not -rank <= dim < rank:
        raise InvalidArgumentError(None, None, _text(dim, rank))

    def infer(x: Tensor) -> Outputs:
        if x.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        return [(x.dtype.base_dtype, x.shape)]

    def kernel(x: Array) -> Any:
        if not -x.ndim <= dim < x.ndim:
            fail(_text(dim, x.ndim))
        powers = np.exp(x - np.max(x, axis=dim, keepdims=True, initial=-np.inf))
        return powers / np.sum(powers, axis=dim, keepdims=True)

    inputs = [Input("logits", tensor, allowed=FLOATS)]
    return apply_op("Softmax", inputs, infer, name=name, kernel=kernel).outputs[0]


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
) -> Tensor:
    """Divides a tensor by its Euclidean norm along the given axes.

    Args:
        x: The tensor.
        axis: An axis or a list of axes. Defaults to all axes.
        epsilon: The minimum squared norm to divide by.
        name: Name of the operation.
    """
    with name_scope(name, "l2_normalize", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        squares = reduce_sum(square(tensor), axis, keepdims=True)
        return multiply(tensor, rsqrt(maximum(squares, epsilon)), name=scope)


def moments(
    x: TensorLike, axes: TensorLike, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the mean and the variance along the given axes.

    Args:
        x: A floating-point tensor.
        axes: The axes, a list of integers.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the scope.
    """
    with name_scope(name, "moments", [x, axes]):
        tensor = convert_to_tensor(x, name="x")
        is_half = tensor.dtype.base_dtype == dtypes.float16
        numbers = cast(tensor, dtypes.float32) if is_half else tensor
        mean = reduce_mean(numbers, axes, keepdims=True, name="mean")
        differences = squared_difference(numbers, mean)
        variance = reduce_mean(differences, axes, keepdims=keepdims, name="variance")
        if not keepdims:
            mean = reduce_mean(mean, axes)
        if is_half:
            mean, variance = cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def _text(axis: int, rank: int) -> str:
    return (
        f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number of "
        "dimensions in the input."
    )


define(
    "Relu",
    numpy=lambda x: np.where(x < 0, x.dtype.type(0), x),
    computed=reals_by_either,
    batch_rule=elementwise,
)
define("Softmax")
