"""Composite reductions: variance, standard deviation, Euclidean norm, log-sum-exp.

Source: `tf.reduce_logsumexp`, `tf.math.reduce_variance` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.fill import zeros_like
from headrace.ops.array.placeholder import stop_gradient
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape
from headrace.ops.array.where import where
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import add, exp, log, multiply, sqrt, square, subtract
from headrace.ops.math.compare import is_finite
from headrace.ops.math.reduce import reduce_max, reduce_mean, reduce_sum

__all__ = ["reduce_euclidean_norm", "reduce_logsumexp", "reduce_std", "reduce_variance"]


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns log(sum(exp(x))) along the given axes, without overflow.

    Args:
        input_tensor: A floating-point tensor.
        axis: An axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the scope.

    Raises:
        ValueError: If an axis does not exist.
    """
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        tensor = convert_to_tensor(input_tensor)
        largest = reduce_max(tensor, axis, keepdims=True)
        shift = stop_gradient(where(is_finite(largest), largest, zeros_like(largest)))
        result = log(reduce_sum(exp(subtract(tensor, shift)), axis, keepdims=keepdims))
        return add(result, shift if keepdims else reshape(shift, shape(result)))


def reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the variance along the given axes.

    Args:
        input_tensor: A floating-point tensor.
        axis: An axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the scope.

    Raises:
        TypeError: If the tensor contains integers.
        ValueError: If an axis does not exist.
    """
    with name_scope(name or "reduce_variance"):
        tensor = convert_to_tensor(input_tensor)
        if tensor.dtype.is_integer:
            raise TypeError("Input must be either real or complex")
        means = reduce_mean(tensor, axis, keepdims=True)
        return reduce_mean(square(subtract(tensor, means)), axis, keepdims=keepdims)


def reduce_std(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the standard deviation along the given axes; see `reduce_variance`."""
    with name_scope(name or "reduce_std"):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the Euclidean norm along the given axes.

    Args:
        input_tensor: A floating-point tensor.
        axis: An axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the scope.

    Raises:
        ValueError: If an axis does not exist.
    """
    with name_scope(name or "reduce_euclidean_norm"):
        tensor = convert_to_tensor(input_tensor)
        return sqrt(reduce_sum(multiply(tensor, tensor), axis, keepdims=keepdims))
