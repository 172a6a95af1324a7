"""Tensor operators: `a + b`, `-a`, `a < b`, `a[1:]`.

Importing this module adds the operators to `Tensor`, and `*` and `/` to `SparseTensor`. If only one
side is a tensor, the other side is converted to the tensor's type.

Source: `tf.Tensor` and `tf.SparseTensor` in TensorFlow 1.15.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.slice import get_item
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math import arithmetic, compare
from headrace.ops.math.cast import cast
from headrace.ops.math.matmul import matmul
from headrace.ops.sparse.broadcast import product_of_elements, quotient_of_elements
from headrace.ops.sparse.tensor import SparseTensor

__all__: list[str] = []

# Values that are never tensors. If one cannot be converted, the error is raised to the caller.
_PLAIN: Final = (numbers.Number, str, bytes, list, tuple, np.ndarray, np.generic)


def _register(function: Callable[..., Tensor], name: str) -> None:
    """Adds both forms of a binary operator to tensors.

    Args:
        function: Accepts both sides and `name`.
        name: Name of the operation, and of the special method without underscores.
    """

    def forward(x: Tensor, y: TensorLike | SparseTensor) -> Any:
        with name_scope(None, name, [x, y]) as scope:
            if isinstance(y, SparseTensor):
                return NotImplemented
            try:
                y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
            except TypeError:
                if hasattr(type(y), f"__r{name}__") and not isinstance(y, _PLAIN):
                    return NotImplemented
                raise
            except ValueError:
                if not isinstance(y, Tensor):
                    raise
            return function(x, y, name=scope)

    def backward(y: Tensor, x: TensorLike) -> Tensor:
        with name_scope(None, name, [x, y]) as scope:
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(x, y, name=scope)

    Tensor.register_operator(f"__{name}__", forward)
    Tensor.register_operator(f"__r{name}__", backward)


_register(arithmetic.add, "add")
_register(arithmetic.subtract, "sub")
_register(arithmetic.multiply, "mul")
_register(arithmetic.truediv, "truediv")
_register(arithmetic.floordiv, "floordiv")
_register(arithmetic.floormod, "mod")
_register(arithmetic.pow, "pow")
_register(compare.logical_and, "and")
_register(compare.logical_or, "or")
_register(compare.logical_xor, "xor")
_register(matmul, "matmul")

Tensor.register_operator("__lt__", compare.less)
Tensor.register_operator("__le__", compare.less_equal)
Tensor.register_operator("__gt__", compare.greater)
Tensor.register_operator("__ge__", compare.greater_equal)
Tensor.register_operator("__invert__", compare.logical_not)
Tensor.register_operator("__neg__", arithmetic.negative)
Tensor.register_operator("__abs__", arithmetic.abs)
Tensor.register_operator("__getitem__", get_item)


def _times(x: SparseTensor, y: TensorLike) -> SparseTensor:
    with name_scope(None, "mul", [x.indices, y]) as scope:
        y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        values = product_of_elements(x.indices, x.values, x.dense_shape, y, name=scope)
        return SparseTensor(x.indices, values, x.dense_shape)


def _divided_by(x: SparseTensor, y: TensorLike) -> SparseTensor:
    with name_scope(None, "truediv", [x.indices, y]) as scope:
        kind = x.dtype.base_dtype
        y = convert_to_tensor(y, dtype=kind, name="y")
        floats = arithmetic.TRUE_DIVISION_TYPES.get(kind, kind)
        values, y = cast(x.values, floats), cast(y, floats)
        values = quotient_of_elements(x.indices, values, x.dense_shape, y, name=scope)
        return SparseTensor(x.indices, values, x.dense_shape)


SparseTensor.register_operator("__mul__", _times)
SparseTensor.register_operator("__truediv__", _divided_by)
