"""How elementwise operations are made: type lists, static shapes, NumPy kernels."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.dtypes import DType
from headrace.graph import Tensor
from headrace.memory import check_array
from headrace.ops.arguments import Input, apply_op
from headrace.ops.folding import register_folding
from headrace.ops.inference import broadcast_shapes
from headrace.ops.kernel import Array, fail
from headrace.shapes import bracketed

__all__ = [
    "COMPLEX",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "REALS",
    "SIGNED",
    "binary",
    "native",
    "unary",
]

FLOATS: Final = (dtypes.float16, dtypes.float32, dtypes.float64)
INTEGERS: Final = (
    dtypes.uint8,
    dtypes.uint16,
    dtypes.uint32,
    dtypes.uint64,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
)
SIGNED: Final = (*FLOATS, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
REALS: Final = FLOATS + INTEGERS
NUMBERS: Final = REALS + COMPLEX

# Operations that the native engine computes for real numbers, with the same computation in NumPy:
# for other types, and for values that are known when the graph is built.
_native: dict[str, Callable[..., Any]] = {}


def native(op_type: str, function: Callable[..., Any]) -> None:
    """Declares an elementwise operation that the native engine knows for real numbers.

    Args:
        op_type: Its type.
        function: The same computation over NumPy arrays.
    """
    _native[op_type] = function
    register_folding(op_type, lambda op, *inputs: function(*inputs))


def unary(
    op_type: str,
    x: Any,
    name: str | None,
    *,
    allowed: tuple[DType, ...],
    function: Callable[[Array], Any] | None = None,
    output_dtype: DType | None = None,
    parameter: str = "x",
) -> Tensor:
    """Adds an elementwise operation over one tensor.

    Args:
        op_type: Its type.
        x: The argument.
        name: Its name.
        allowed: The types that `x` may have.
        function: Computes it over arrays; None for one declared with `native`.
        output_dtype: Type of the result; None for that of `x`.
        parameter: Name of the argument, for errors.
    """

    def infer(tensor: Tensor) -> Any:
        return [(output_dtype or tensor.dtype.base_dtype, tensor.shape)]

    inputs = [Input(parameter, x, allowed=allowed)]
    return _make(op_type, inputs, infer, name, function, output_dtype)


def binary(
    op_type: str,
    x: Any,
    y: Any,
    name: str | None,
    *,
    allowed: tuple[DType, ...],
    function: Callable[[Array, Array], Any] | None = None,
    output_dtype: DType | None = None,
    parameters: tuple[str, str] = ("x", "y"),
) -> Tensor:
    """Adds an elementwise operation over two tensors of one type, with broadcasting.

    Args:
        op_type: Its type.
        x: The first argument.
        y: The second argument.
        name: Its name.
        allowed: The types that both may have.
        function: Computes it over arrays; None for one declared with `native`.
        output_dtype: Type of the result; None for that of `x`.
        parameters: Names of the arguments, for errors.
    """
    pairs = zip(parameters, (x, y), strict=True)
    inputs = [Input(parameter, value, allowed=allowed) for parameter, value in pairs]

    def infer(a: Tensor, b: Tensor) -> Any:
        return [(output_dtype or a.dtype.base_dtype, broadcast_shapes(a.shape, b.shape))]

    return _make(op_type, inputs, infer, name, function, output_dtype)


def _make(
    op_type: str,
    inputs: list[Input],
    infer: Callable[..., Any],
    name: str | None,
    function: Callable[..., Any] | None,
    output_dtype: DType | None,
) -> Tensor:
    computed = function or _native[op_type]
    output_type = None if output_dtype is None else output_dtype.as_numpy_dtype

    def kernel(*arrays: Array) -> Any:
        try:
            if any(array.shape != arrays[0].shape for array in arrays):
                shape = np.broadcast_shapes(*[array.shape for array in arrays])
                check_array(shape, arrays[0].dtype if output_type is None else output_type)
            return computed(*arrays)
        except ValueError:
            shapes = " vs. ".join(bracketed(array.shape) for array in arrays)
            fail(f"Incompatible shapes: {shapes}")

    op = apply_op(op_type, inputs, infer, name=name, kernel=kernel)
    if function is None and op.inputs[0].dtype.base_dtype in REALS:
        op.kernel = None
    return op.outputs[0]
