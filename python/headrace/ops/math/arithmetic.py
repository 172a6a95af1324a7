"""Arithmetic on tensors, elementwise and with broadcasting.

Source: `tf.math` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import bracketed, unknown_shape
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import InputList, Outputs, apply_op
from headrace.ops.framework.batching import all_batched, elementwise
from headrace.ops.framework.conversion import convert_n_to_tensor, convert_to_tensor
from headrace.ops.framework.elementwise import (
    COMPLEX,
    FLOATS,
    NUMBERS,
    REALS,
    SIGNED,
    binary,
    fold_by_numpy,
    reals_by_either,
    reals_by_engine,
    unary,
)
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, by_numpy_in_sessions, fail
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor, of_elements

__all__ = [
    "abs",
    "add",
    "add_n",
    "ceil",
    "clip_by_value",
    "div_no_nan",
    "divide",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "pow",
    "realdiv",
    "reciprocal",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "sigmoid",
    "sign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tanh",
    "truediv",
]


def _floor_divide(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y == 0):
        fail("Integer division by zero")
    return np.floor_divide(x, y)


def _floor_mod(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y == 0):
        fail("Integer division by zero")
    return np.mod(x, y)


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x + y. Strings are concatenated."""
    return binary("Add", x, y, name, allowed=(*NUMBERS, dtypes.string))


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x - y."""
    return binary("Sub", x, y, name, allowed=NUMBERS)


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x * y."""
    return binary("Mul", x, y, name, allowed=NUMBERS)


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Multiplies a tensor by a scalar of the same type.

    Raises:
        ValueError: If `scalar` is not a scalar.
    """
    x = convert_to_tensor(x, name="x")
    factor = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if factor.shape.rank != 0:
        raise ValueError(f"Only scalar multiply works, got shape {factor.shape}")
    return multiply(factor, x, name)


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y, for floats."""
    return binary("RealDiv", x, y, name, allowed=FLOATS + COMPLEX)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y as in Python 3. Integers are converted to floats first.

    Integers of up to 16 bits become float32, and longer ones float64.

    Raises:
        TypeError: If the types differ.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype_hint=x.dtype.base_dtype)
        check_same_type(x, y)
        if x.dtype.base_dtype not in NUMBERS:
            raise TypeError(f"Invalid dtype {x.dtype.base_dtype!r} in __truediv__")
        float_type = TRUE_DIVISION_TYPES.get(x.dtype.base_dtype)
        if float_type is not None:
            x, y = cast(x, float_type), cast(y, float_type)
        return realdiv(x, y, name=scope)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y, as in Python 3. If only one side is a tensor, the result has its type."""
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
    return truediv(x, y, name=name)


def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y, or 0 where y is 0."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return binary("DivNoNan", x, y, scope, allowed=FLOATS)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the largest integer not greater than x / y."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return binary("FloorDiv", x, y, scope, allowed=REALS)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the remainder of floor division, which has the sign of y."""
    return binary("FloorMod", x, y, name, allowed=REALS)


mod = floormod


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x to the power of y."""
    with name_scope(name, "Pow", [x]) as scope:
        return binary("Pow", x, y, scope, allowed=SIGNED + COMPLEX)


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the larger of x and y."""
    return binary("Maximum", x, y, name, allowed=REALS)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the smaller of x and y."""
    return binary("Minimum", x, y, name, allowed=REALS)


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the square of x - y."""
    return binary(
        "SquaredDifference", x, y, name, allowed=(*FLOATS, dtypes.int32, dtypes.int64, *COMPLEX)
    )


def negative(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns -x."""
    if isinstance(x, SparseTensor):
        return of_elements(negative, x, name)
    return unary("Neg", x, name, allowed=SIGNED + COMPLEX)


def abs(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the absolute value."""
    if isinstance(x, SparseTensor):
        return of_elements(abs, x, name)
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return unary(
                "ComplexAbs",
                x,
                scope,
                allowed=COMPLEX,
                output_dtype=x.dtype.real_dtype,
            )
        return unary("Abs", x, scope, allowed=SIGNED)


def sign(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the sign of each element: -1, 0 or 1."""
    if isinstance(x, SparseTensor):
        return of_elements(sign, x, name)
    return unary("Sign", x, name, allowed=SIGNED + COMPLEX)


def square(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the square of x."""
    if isinstance(x, SparseTensor):
        return of_elements(square, x, name)
    return unary("Square", x, name, allowed=NUMBERS)


def sqrt(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the square root."""
    if isinstance(x, SparseTensor):
        return of_elements(sqrt, x, name)
    return unary("Sqrt", x, name, allowed=FLOATS + COMPLEX)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the reciprocal of the square root."""
    return unary("Rsqrt", x, name, allowed=FLOATS + COMPLEX)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 / x."""
    return unary("Reciprocal", x, name, allowed=FLOATS + COMPLEX)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns e to the power of x."""
    return unary("Exp", x, name, allowed=FLOATS + COMPLEX)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns e to the power of x, minus 1. The result is accurate for small x."""
    return unary("Expm1", x, name, allowed=FLOATS + COMPLEX)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the natural logarithm."""
    return unary("Log", x, name, allowed=FLOATS + COMPLEX)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the natural logarithm of 1 + x."""
    return unary("Log1p", x, name, allowed=FLOATS + COMPLEX)


def tanh(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    if isinstance(x, SparseTensor):
        return of_elements(tanh, x, name)
    return unary("Tanh", x, name, allowed=FLOATS + COMPLEX)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 / (1 + exp(-x))."""
    return unary("Sigmoid", x, name, allowed=FLOATS + COMPLEX)


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the largest integer not greater than x, as a float."""
    return unary("Floor", x, name, allowed=FLOATS)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the smallest integer not less than x, as a float."""
    return unary("Ceil", x, name, allowed=FLOATS)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the nearest integer, with halves rounded to even. Integers are unchanged."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_integer:
        tensor: Tensor = x
        return tensor
    return unary("Round", x, name, allowed=FLOATS + COMPLEX)


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the nearest integer as a float, with halves rounded to even."""
    return unary("Rint", x, name, allowed=FLOATS)


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Returns the sum of several tensors of the same type and shape.

    Args:
        inputs: A list or tuple of tensors, not empty.
        name: Name of the operation. If it is None, a single tensor is returned unchanged.

    Raises:
        ValueError: If `inputs` is not a list or tuple, is empty, or the shapes differ.
    """
    text = (
        "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
    )
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(text)
    try:
        tensors = convert_n_to_tensor(inputs)
    except (TypeError, ValueError) as error:
        raise ValueError(text) from error
    if len(tensors) == 1 and not name:
        return tensors[0]
    op = apply_op(
        "AddN",
        [InputList("inputs", tensors, allowed=NUMBERS)],
        _merge_all,
        name=name,
        kernel=_sum_all,
    )
    return op.outputs[0]


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Clips the elements of a tensor to a range.

    Raises:
        ValueError: If broadcasting the limits would change the shape of `t`.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        tensor = convert_to_tensor(t, name="t")
        below = minimum(tensor, clip_value_max)
        tensor.shape.merge_with(below.shape)
        clipped = maximum(below, clip_value_min, name=scope)
        tensor.shape.merge_with(clipped.shape)
        return clipped


TRUE_DIVISION_TYPES: dict[DType, DType] = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint32: dtypes.float64,
    dtypes.int32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
    dtypes.int64: dtypes.float64,
}


def check_same_type(x: Tensor, y: Tensor) -> None:
    """Raises a TypeError if two tensors differ in type."""
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype.base_dtype!r} != "
            f"{y.dtype.base_dtype!r}"
        )


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        fail("Integers to negative integer powers are not allowed")
    return np.power(x, y)


def _divide_no_nan(x: Array, y: Array) -> Array:
    return np.where(y == 0, np.zeros((), x.dtype), np.true_divide(x, np.where(y == 0, 1, y)))


def _merge_all(*tensors: Tensor) -> Outputs:
    merged = unknown_shape()
    for tensor in tensors:
        if not merged.is_compatible_with(tensor.shape):
            raise ShapeConflict(
                f"Shapes must be equal, but are {bracketed(merged)} and {bracketed(tensor.shape)}"
            )
        merged = merged.merge_with(tensor.shape)
    return [(tensors[0].dtype.base_dtype, merged)]


def _sum_all(*arrays: Array) -> Array:
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            fail(
                "Inputs to operation AddN of type AddN must have the same size and shape.  "
                f"Input 0: {bracketed(arrays[0].shape)} != input {index}: {bracketed(array.shape)}"
            )
    total = arrays[0]
    for array in arrays[1:]:
        total = np.add(total, array)
    return total


def _power_by(op: Operation) -> KernelKind:
    """Returns the engine for floats, because NumPy's powers differ from TensorFlow's by one bit."""
    return KernelKind.BY_ENGINE if op.inputs[0].dtype.is_floating else KernelKind.BY_NUMPY


define("Add", numpy=np.add, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise)
define(
    "Sub", numpy=np.subtract, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise
)
define(
    "Mul", numpy=np.multiply, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise
)
define(
    "RealDiv",
    numpy=np.true_divide,
    computed=reals_by_engine,
    fold=fold_by_numpy,
    batch_rule=elementwise,
)
define(
    "FloorDiv",
    numpy=_floor_divide,
    computed=reals_by_engine,
    fold=fold_by_numpy,
    batch_rule=elementwise,
)
define(
    "FloorMod",
    numpy=_floor_mod,
    computed=reals_by_engine,
    fold=fold_by_numpy,
    batch_rule=elementwise,
)
define(
    "Maximum",
    numpy=np.maximum,
    computed=reals_by_engine,
    fold=fold_by_numpy,
    batch_rule=elementwise,
)
define(
    "Minimum",
    numpy=np.minimum,
    computed=reals_by_engine,
    fold=fold_by_numpy,
    batch_rule=elementwise,
)
define(
    "Neg", numpy=np.negative, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise
)
define("Abs", numpy=np.abs, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise)
define(
    "Square", numpy=np.square, computed=reals_by_engine, fold=fold_by_numpy, batch_rule=elementwise
)
define("DivNoNan", numpy=_divide_no_nan, computed=reals_by_either, batch_rule=elementwise)
define("Pow", numpy=_power, computed=_power_by, batch_rule=elementwise)
define(
    "SquaredDifference",
    numpy=lambda a, b: np.square(np.subtract(a, b)),
    computed=reals_by_either,
    batch_rule=elementwise,
)
define("ComplexAbs", numpy=np.abs)
define("Sign", numpy=np.sign, computed=reals_by_either, batch_rule=elementwise)
define("Sqrt", numpy=np.sqrt, computed=by_numpy_in_sessions, batch_rule=elementwise)
define(
    "Rsqrt", numpy=lambda a: 1 / np.sqrt(a), computed=by_numpy_in_sessions, batch_rule=elementwise
)
define("Reciprocal", numpy=np.reciprocal, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Exp", numpy=np.exp, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Expm1", numpy=np.expm1, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Log", numpy=np.log, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Log1p", numpy=np.log1p, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Tanh", numpy=np.tanh, computed=by_numpy_in_sessions, batch_rule=elementwise)
define(
    "Sigmoid",
    numpy=lambda a: 1 / (1 + np.exp(-a)),
    computed=by_numpy_in_sessions,
    batch_rule=elementwise,
)
define("Floor", numpy=np.floor, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Ceil", numpy=np.ceil, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Round", numpy=np.rint, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("Rint", numpy=np.rint, computed=by_numpy_in_sessions, batch_rule=elementwise)
define("AddN", computed=reals_by_either, batch_rule=all_batched)
