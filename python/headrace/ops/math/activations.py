"""Activation functions and simple reductions of whole tensors.

Source: `tf.nn.elu`, `tf.nn.softplus`, `tf.nn.log_softmax`, `tf.nn.l2_loss`, `tf.nn.zero_fraction`
and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import scalar
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.shape import size
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS, REALS, unary
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import negative, realdiv, subtract
from headrace.ops.math.cast import cast
from headrace.ops.math.nn import _text
from headrace.ops.math.reduce import count_nonzero

__all__ = [
    "elu",
    "l2_loss",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "relu6",
    "selu",
    "softplus",
    "softsign",
    "zero_fraction",
]


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns x, or exp(x) - 1 where x is negative."""
    return unary("Elu", features, name, allowed=FLOATS, parameter="features")


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns `elu`, scaled so that the mean and the variance are preserved."""
    return unary("Selu", features, name, allowed=FLOATS, parameter="features")


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns x, clipped to the range from 0 to 6."""
    with name_scope(name, "Relu6", [features]) as scope:
        tensor = convert_to_tensor(features, name="features")
        return unary("Relu6", tensor, scope, allowed=REALS, parameter="features")


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Returns x, or alpha * x where x is negative.

    Args:
        features: Real numbers; integers become float32.
        alpha: The factor.
        name: Name of the operation.
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        tensor = convert_to_tensor(features, name="features")
        if tensor.dtype.is_integer:
            tensor = cast(tensor, dtypes.float32)
        factor = float(alpha)

        def infer(x: Tensor) -> Outputs:
            return [(x.dtype.base_dtype, x.shape)]

        def kernel(x: Array) -> Any:
            return np.where(x > 0, x, x * x.dtype.type(factor))

        inputs = [Input("features", tensor, allowed=FLOATS)]
        attrs = {"alpha": factor}
        op = apply_op("LeakyRelu", inputs, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns log(1 + exp(x))."""
    return unary("Softplus", features, name, allowed=FLOATS, parameter="features")


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / (1 + |x|)."""
    return unary("Softsign", features, name, allowed=FLOATS, parameter="features")


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of 1 / (1 + exp(-x))."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        tensor = convert_to_tensor(x, name="x")
        return negative(softplus(negative(tensor)), name=scope)


def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Returns the logarithm of `softmax`.

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
        shifted = x - np.max(x, axis=dim, keepdims=True, initial=-np.inf)
        return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))

    inputs = [Input("logits", tensor, allowed=FLOATS)]
    return apply_op("LogSoftmax", inputs, infer, name=name, kernel=kernel).outputs[0]


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Returns half the sum of the squares of all elements, a scalar."""

    def infer(tensor: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, scalar())]

    def kernel(x: Array) -> Any:
        return np.sum(np.square(x), dtype=x.dtype) / x.dtype.type(2)

    inputs = [Input("t", t, allowed=FLOATS)]
    return apply_op("L2Loss", inputs, infer, name=name, kernel=kernel).outputs[0]


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns the fraction of zero elements (float32), or NaN if the tensor is empty."""
    with name_scope(name, "zero_fraction", [value]):
        tensor = convert_to_tensor(value, name="value")
        total = cast(size(tensor, dtypes.int64), dtypes.float32)
        zeros = subtract(total, count_nonzero(tensor, dtype=dtypes.float32))
        return realdiv(zeros, total, name="fraction")


_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.6732632423543772848170429916717


def _selu(x: Array) -> Any:
    one = x.dtype.type
    return np.where(x < 0, one(_SELU_SCALE * _SELU_ALPHA) * np.expm1(x), one(_SELU_SCALE) * x)


define("Elu", numpy=lambda x: np.where(x < 0, np.expm1(x), x))
define("L2Loss")
define("LeakyRelu")
define("LogSoftmax")
define("Relu6", numpy=lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)))
define("Selu", numpy=_selu)
define("Softplus", numpy=lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
define("Softsign", numpy=lambda x: x / (1 + np.abs(x)))
