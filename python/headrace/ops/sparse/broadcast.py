"""Multiplying and dividing a sparse tensor by a dense tensor.

Source: `tf.SparseTensor` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["product_of_elements", "quotient_of_elements"]


def product_of_elements(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    dense: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Multiplies the elements of a sparse tensor by the dense elements at the same positions.

    Args:
        indices: The positions of the elements.
        values: The elements.
        dense_shape: The shape.
        dense: The dense tensor, which has this shape or is broadcast to it.
        name: Name of the operation.

    Returns:
        The products, one for each element of `values`.
    """
    parts = (indices, values, dense_shape, dense)
    return _combined("SparseDenseCwiseMul", np.multiply, parts, name)


def quotient_of_elements(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    dense: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Divides the elements of a sparse tensor by the dense elements at the same positions.

    Args:
        indices: The positions of the elements.
        values: The elements, floats or complex numbers.
        dense_shape: The shape.
        dense: The dense tensor, which has this shape or is broadcast to it.
        name: Name of the operation.

    Returns:
        The quotients, one for each element of `values`.
    """
    parts = (indices, values, dense_shape, dense)
    return _combined("SparseDenseCwiseDiv", np.divide, parts, name)


def _combined(
    op_type: str,
    function: Callable[..., Any],
    parts: tuple[TensorLike, TensorLike, TensorLike, TensorLike],
    name: str | None,
) -> Tensor:
    def infer(indices: Tensor, elements: Tensor, *_: Tensor) -> Outputs:
        check_rank(indices.shape, 2)
        return [(elements.dtype.base_dtype, elements.shape)]

    def kernel(indices: Array, elements: Array, sizes: Array, dense: Array) -> Any:
        if indices.shape != (len(elements), len(sizes)):
            fail(
                f"Input sp_indices have shape {bracketed(indices.shape)}, expected "
                f"[{len(elements)},{len(sizes)}]: a row for each value and a column for each "
                "dimension"
            )
        behind = sizes[len(sizes) - dense.ndim :]
        fits = [size in (1, own) for size, own in zip(dense.shape, behind, strict=False)]
        if dense.ndim > len(sizes) or not all(fits):
            fail(
                "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible "
                f"shapes: {bracketed(sizes.tolist())} vs. {bracketed(dense.shape)}"
            )
        if ((indices < 0) | (indices >= sizes)).any():
            fail("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape")
        own_indices = indices[:, len(sizes) - dense.ndim :] % dense.shape
        return function(elements, dense[tuple(own_indices.T)])

    inputs = [
        Input("sp_indices", parts[0], dtypes.int64),
        Input("sp_values", parts[1], allowed=NUMBERS),
        Input("sp_shape", parts[2], dtypes.int64),
        Input("dense", parts[3]),
    ]
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


define("SparseDenseCwiseDiv")
define("SparseDenseCwiseMul")
