"""Trigonometric functions, elementwise.

Source: `tf.math` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.elementwise import COMPLEX, FLOATS, binary, unary
from headrace.ops.framework.kernel import by_numpy_in_sessions

__all__ = ["acos", "asin", "atan", "atan2", "cos", "cosh", "sin", "sinh", "tan"]


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sine of an angle in radians."""
    return unary("Sin", x, name, allowed=FLOATS + COMPLEX)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the cosine of an angle in radians."""
    return unary("Cos", x, name, allowed=FLOATS + COMPLEX)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the tangent of an angle in radians."""
    return unary("Tan", x, name, allowed=FLOATS + COMPLEX)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse sine, in radians from -pi/2 to pi/2."""
    return unary("Asin", x, name, allowed=FLOATS + COMPLEX)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse cosine, in radians from 0 to pi."""
    return unary("Acos", x, name, allowed=FLOATS + COMPLEX)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse tangent, in radians from -pi/2 to pi/2."""
    return unary("Atan", x, name, allowed=FLOATS + COMPLEX)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the angle of the point (x, y), in radians from -pi to pi."""
    return binary("Atan2", y, x, name, allowed=FLOATS, parameters=("y", "x"))


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the hyperbolic sine."""
    return unary("Sinh", x, name, allowed=FLOATS + COMPLEX)


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the hyperbolic cosine."""
    return unary("Cosh", x, name, allowed=FLOATS + COMPLEX)


define("Sin", numpy=np.sin, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Cos", numpy=np.cos, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Tan", numpy=np.tan, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Asin", numpy=np.arcsin, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Acos", numpy=np.arccos, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Atan", numpy=np.arctan, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Atan2", numpy=np.arctan2, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Sinh", numpy=np.sinh, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Cosh", numpy=np.cosh, computed=by_numpy_in_sessions, batch_rule=elementwise)
