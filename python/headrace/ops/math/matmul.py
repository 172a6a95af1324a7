"""Matrix products.

Source: `tf.matmul` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.inference import ShapeConflict, broadcast_shapes, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["matmul"]


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of two matrices, or of the matrices in the last two axes.

    Args:
        a: The first factor, of rank 2 or more.
        b: The second factor, of the same type.
        transpose_a: If True, `a` is transposed first.
        transpose_b: If True, `b` is transposed first.
        adjoint_a: If True, `a` is conjugated and transposed first.
        adjoint_b: If True, `b` is conjugated and transposed first.
        name: Name of the operation.

    Raises:
        ValueError: If the sizes do not match, or a factor is both transposed and adjoint.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b", dtype_hint=a.dtype.base_dtype)
        ranks = (a.shape.rank, b.shape.rank)
        is_batch = any(rank is None or rank > 2 for rank in ranks)
        flip_a, flip_b = transpose_a or adjoint_a, transpose_b or adjoint_b

        def infer(x: Tensor, y: Tensor) -> Outputs:
            if not is_batch:
                check_rank(x.shape, 2)
                check_rank(y.shape, 2)
            shape = _product_shape(x.shape, y.shape, flip_a, flip_b, is_batch)
            return [(x.dtype.base_dtype, shape)]

        def kernel(x: Array, y: Array) -> Any:
            x, y = _flipped(x, flip_a, adjoint_a), _flipped(y, flip_b, adjoint_b)
            for number, ndim in enumerate((x.ndim, y.ndim)):
                if ndim < 2:
                    fail(f"In[{number}] ndims must be >= 2: {ndim}")
            if x.shape[-1] != y.shape[-2]:
                fail(
                    f"Matrix size-incompatible: In[0]: {bracketed(x.shape)}, "
                    f"In[1]: {bracketed(y.shape)}"
                )
            front = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            check_array([*front, x.shape[-2], y.shape[-1]], x.dtype)
            return np.matmul(x, y)

        attrs = {"adj_x": flip_a, "adj_y": flip_b}
        if not is_batch:
            attrs = {"transpose_a": flip_a, "transpose_b": flip_b}
        inputs = [Input("a", a, allowed=NUMBERS), Input("b", b, allowed=NUMBERS)]
        op_type = "BatchMatMulV2" if is_batch else "MatMul"
        op = apply_op(op_type, inputs, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def _flipped(array: Array, is_flipped: bool, is_adjoint: bool) -> Array:
    if not is_flipped or array.ndim < 2:
        return array
    moved = np.swapaxes(array, -1, -2)
    return np.conj(moved) if is_adjoint else moved


def _product_shape(
    a: TensorShape, b: TensorShape, flip_a: bool, flip_b: bool, is_batch: bool
) -> TensorShape:
    if is_batch and (a.rank is None or b.rank is None):
        return unknown_shape()
    a, b = (unknown_shape(2) if shape.rank is None else shape for shape in (a, b))
    rows, inner_a = (a[-1], a[-2]) if flip_a else (a[-2], a[-1])
    inner_b, columns = (b[-1], b[-2]) if flip_b else (b[-2], b[-1])
    if not inner_a.is_compatible_with(inner_b):
        raise ShapeConflict(f"Dimensions must be equal, but are {inner_a} and {inner_b}")
    return broadcast_shapes(a[:-2], b[:-2]).concatenate([rows, columns])


define("BatchMatMulV2")
define("MatMul")
