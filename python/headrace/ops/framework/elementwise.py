"""Elementwise operations: type lists, static shapes and NumPy kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType
from headrace.core.shapes import bracketed
from headrace.graph import KernelKind, OpDef, Operation, Tensor, TensorLike, definition_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import broadcast_shapes
from headrace.ops.framework.kernel import Array, fail

__all__ = [
    "COMPLEX",
    "FLOATS",
    "INDEX_TYPES",
    "INTEGERS",
    "NUMBERS",
    "REALS",
    "SIGNED",
    "binary",
    "fold_by_numpy",
    "reals_by_either",
    "reals_by_engine",
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
INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)
SIGNED: Final = (*FLOATS, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
REALS: Final = FLOATS + INTEGERS
NUMBERS: Final = REALS + COMPLEX


def reals_by_engine(op: Operation) -> KernelKind:
    """An `OpDef.computed` that selects the engine for real numbers, and NumPy for other types."""
    is_real = op.inputs[0].dtype.base_dtype in REALS
    return KernelKind.BY_ENGINE if is_real else KernelKind.BY_NUMPY


def reals_by_either(op: Operation) -> KernelKind:
    """An `OpDef.computed` that allows either kernel for real numbers. Both return the same bits."""
    is_real = op.inputs[0].dtype.base_dtype in REALS
    return KernelKind.BY_EITHER if is_real else KernelKind.BY_NUMPY


def fold_by_numpy(op: Operation, *inputs: Array) -> Any:
    """An `OpDef.fold` that computes an operation with the NumPy function in its definition."""
    return _function_of(op.definition)(*inputs)


def _function_of(definition: OpDef) -> Callable[..., Any]:
    if definition.numpy is None:
        raise LookupError(f"operation type '{definition.type}' has no NumPy function")
    return definition.numpy


def unary(
    op_type: str,
    x: TensorLike,
    name: str | None,
    *,
    allowed: tuple[DType, ...],
    output_dtype: DType | None = None,
    parameter: str = "x",
) -> Tensor:
    """Adds an elementwise operation on one tensor.

    Args:
        op_type: The type of the operation. Its definition contains the NumPy function.
        x: The argument.
        name: Name of the operation.
        allowed: The types that `x` can have.
        output_dtype: The type of the result. Defaults to the type of `x`.
        parameter: Name of the argument, for errors.
    """

    def infer(tensor: Tensor) -> Outputs:
        return [(output_dtype or tensor.dtype.base_dtype, tensor.shape)]

    inputs = [Input(parameter, x, allowed=allowed)]
    return _make(op_type, inputs, infer, name, output_dtype)


def binary(
    op_type: str,
    x: TensorLike,
    y: TensorLike,
    name: str | None,
    *,
    allowed: tuple[DType, ...],
    output_dtype: DType | None = None,
    parameters: tuple[str, str] = ("x", "y"),
) -> Tensor:
    """Adds an elementwise operation on two tensors of the same type, with broadcasting.

    Args:
        op_type: The type of the operation. Its definition contains the NumPy function.
        x: The first argument.
        y: The second argument.
        name: Name of the operation.
        allowed: The types that both arguments can have.
        output_dtype: The type of the result. Defaults to the type of `x`.
        parameters: Names of the arguments, for errors.
    """
    pairs = zip(parameters, (x, y), strict=True)
    inputs = [Input(parameter, value, allowed=allowed) for parameter, value in pairs]

    def infer(a: Tensor, b: Tensor) -> Outputs:
        return [(output_dtype or a.dtype.base_dtype, broadcast_shapes(a.shape, b.shape))]

    return _make(op_type, inputs, infer, name, output_dtype)


def _make(
    op_type: str,
    inputs: list[Input],
    infer: Callable[..., Any],
    name: str | None,
    output_dtype: DType | None,
) -> Tensor:
    function = _function_of(definition_of(op_type))
    output_type = None if output_dtype is None else output_dtype.as_numpy_dtype

    def kernel(*arrays: Array) -> Any:
        try:
            if any(array.shape != arrays[0].shape for array in arrays):
                shape = np.broadcast_shapes(*[array.shape for array in arrays])
                check_array(shape, arrays[0].dtype if output_type is None else output_type)
            return function(*arrays)
        except ValueError:
            shapes = " vs. ".join(bracketed(array.shape) for array in arrays)
            fail(f"Incompatible shapes: {shapes}")

    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]
