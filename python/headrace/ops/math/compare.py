"""Comparisons and logic, elementwise and with broadcasting.

Source: `tf.math` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.elementwise import FLOATS, NUMBERS, REALS, binary, unary
from headrace.ops.framework.inference import broadcast_shapes, like
from headrace.ops.framework.kernel import Array, by_either, by_numpy_in_sessions, fail

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
]

_COMPARABLE = (*NUMBERS, dtypes.bool, dtypes.string)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x == y."""
    return binary("Equal", x, y, name, allowed=_COMPARABLE, output_dtype=dtypes.bool)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x != y."""
    return binary("NotEqual", x, y, name, allowed=_COMPARABLE, output_dtype=dtypes.bool)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x < y."""
    return binary("Less", x, y, name, allowed=REALS, output_dtype=dtypes.bool)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x <= y."""
    return binary("LessEqual", x, y, name, allowed=REALS, output_dtype=dtypes.bool)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x > y."""
    return binary("Greater", x, y, name, allowed=REALS, output_dtype=dtypes.bool)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x >= y."""
    return binary(
        "GreaterEqual",
        x,
        y,
        name,
        allowed=REALS,
        output_dtype=dtypes.bool,
    )


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x is NaN."""
    return unary("IsNan", x, name, allowed=FLOATS, output_dtype=dtypes.bool)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x is infinite."""
    return unary("IsInf", x, name, allowed=FLOATS, output_dtype=dtypes.bool)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where x is neither infinite nor NaN."""
    return unary("IsFinite", x, name, allowed=FLOATS, output_dtype=dtypes.bool)


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where both inputs are true."""
    return _logical("LogicalAnd", x, y, name, np.logical_and)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where at least one input is true."""
    return _logical("LogicalOr", x, y, name, np.logical_or)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns True where the input is false."""
    inputs = [Input("x", x, dtypes.bool)]
    return apply_op("LogicalNot", inputs, like, name=name, kernel=np.logical_not).outputs[0]


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Returns True where exactly one input is true."""
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)


def _logical(
    op_type: str, x: TensorLike, y: TensorLike, name: str | None, function: Callable[..., Any]
) -> Tensor:
    def infer(a: Tensor, b: Tensor) -> Outputs:
        return [(dtypes.bool, broadcast_shapes(a.shape, b.shape))]

    def kernel(a: Array, b: Array) -> Any:
        try:
            return function(a, b)
        except ValueError:
            fail(f"Incompatible shapes: {bracketed(a.shape)} vs. {bracketed(b.shape)}")

    inputs = [Input("x", x, dtypes.bool), Input("y", y, dtypes.bool)]
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


def _complex_by_numpy(op: Operation) -> KernelKind:
    """Allows only NumPy for complex numbers, and either kernel for all other types."""
    return KernelKind.BY_NUMPY if op.inputs[0].dtype.is_complex else KernelKind.BY_EITHER


define("Equal", numpy=np.equal, computed=_complex_by_numpy, batch_rule=elementwise)
define("NotEqual", numpy=np.not_equal, computed=_complex_by_numpy, batch_rule=elementwise)
define("Less", numpy=np.less, computed=_complex_by_numpy, batch_rule=elementwise)
define("LessEqual", numpy=np.less_equal, computed=_complex_by_numpy, batch_rule=elementwise)
define("Greater", numpy=np.greater, computed=_complex_by_numpy, batch_rule=elementwise)
define("GreaterEqual", numpy=np.greater_equal, computed=_complex_by_numpy, batch_rule=elementwise)
define("IsNan", numpy=np.isnan, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("IsInf", numpy=np.isinf, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("IsFinite", numpy=np.isfinite, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("LogicalAnd", computed=by_either, batch_rule=elementwise)
define("LogicalNot", computed=by_either, batch_rule=elementwise)
define("LogicalOr", computed=by_either, batch_rule=elementwise)
