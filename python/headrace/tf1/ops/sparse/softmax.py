"""The softmax over the stored elements of a sparse tensor.

Source: `tf.sparse_softmax` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import FLOATS
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_softmax"]


def sparse_softmax(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Returns the softmax over the elements of each row of the last axis.

    Missing elements are ignored and stay missing.

    Args:
        sp_input: The sparse tensor, with at least two axes and a floating-point type.
        name: Name of the scope.

    Raises:
        InvalidArgumentError: At run time, if the tensor has fewer than two axes.
        TypeError: If `sp_input` is not a sparse tensor of floats.
    """
    sparse = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseSoftmax", [sparse.indices]):
        values = softmax_of_parts(sparse.indices, sparse.values, sparse.dense_shape)
        return SparseTensor(sparse.indices, values, sparse.dense_shape)


def softmax_of_parts(
    indices: TensorLike, values: TensorLike, dense_shape: TensorLike, name: str | None = None
) -> Tensor:
    """Adds the operation of `sparse_softmax`.

    Args:
        indices: The positions of the elements.
        values: The elements.
        dense_shape: The shape.
        name: Name of the operation.
    """

    def infer(indices: Tensor, elements: Tensor, _: Tensor) -> Outputs:
        check_rank(indices.shape, 2)
        return [(elements.dtype.base_dtype, elements.shape)]

    def kernel(indices: Array, elements: Array, sizes: Array) -> Any:
        if len(sizes) < 2:
            fail(f"Input should have rank >= 2, but received shape: {bracketed(sizes.tolist())}")
        if indices.shape != (len(elements), len(sizes)):
            fail(
                f"Input indices have shape {bracketed(indices.shape)}, expected "
                f"[{len(elements)},{len(sizes)}]: a row for each value and a column for each "
                "dimension"
            )
        if not len(elements):
            return elements
        order = np.lexsort(indices[:, :-1].T[::-1])
        rows, values = indices[order, :-1], elements[order]
        is_first = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
        begins, row = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        powers = np.exp(values - np.maximum.reduceat(values, begins)[row])
        result = np.empty_like(elements)
        result[order] = powers / np.add.reduceat(powers, begins)[row]
        return result

    inputs = [
        Input("sp_indices", indices, dtypes.int64),
        Input("sp_values", values, allowed=FLOATS),
        Input("sp_shape", dense_shape, dtypes.int64),
    ]
    return apply_op("SparseSoftmax", inputs, infer, name=name, kernel=kernel).outputs[0]


define("SparseSoftmax")
