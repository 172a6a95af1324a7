"""Products of a sparse and a dense matrix.

Source: `tf.sparse_tensor_dense_matmul` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.array.transpose import transpose
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES, NUMBERS, REALS
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_tensor_dense_matmul"]


def sparse_tensor_dense_matmul(
    sp_a: SparseTensor | SparseTensorValue | TensorLike,
    b: TensorLike | SparseTensor | SparseTensorValue,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of a sparse and a dense matrix of the same type.

    Args:
        sp_a: The first factor. It can be dense if the second factor is sparse.
        b: The second factor.
        adjoint_a: If True, the first factor is conjugated and transposed first.
        adjoint_b: If True, the second factor is conjugated and transposed first.
        name: Name of the scope.

    Returns:
        A dense matrix.

    Raises:
        InvalidArgumentError: At run time, if the sizes do not match, or an index is out of range.
        TypeError: If neither factor is sparse, or the types differ.
        ValueError: If a factor is known not to be a matrix, or the sizes are known not to match.
    """
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        # The adjoint of a product a·b is the adjoint of b times the adjoint of a.
        dense = convert_to_tensor(sp_a)  # type: ignore[arg-type]
        product = sparse_tensor_dense_matmul(b, dense, not adjoint_b, not adjoint_a, name)
        return transpose(product, conjugate=product.dtype.is_complex)
    sparse = as_sparse_tensor(sp_a)  # type: ignore[arg-type]
    with name_scope(name, "SparseTensorDenseMatMul", [sparse.indices, b]):
        dense = convert_to_tensor(b, name="b")
        parts = (sparse.indices, sparse.values, sparse.dense_shape)
        return product_of_parts(*parts, dense, bool(adjoint_a), bool(adjoint_b))


def product_of_parts(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    dense: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of a sparse matrix, given by its parts, and a dense one.

    Args:
        indices: The positions of the elements, int32 or int64.
        values: The elements.
        dense_shape: The shape, int64.
        dense: The dense matrix.
        adjoint_a: Whether the sparse matrix is conjugated and transposed first.
        adjoint_b: Whether the dense matrix is conjugated and transposed first.
        name: Name of the operation.
    """

    def infer(indices: Tensor, elements: Tensor, shape: Tensor, matrix: Tensor) -> Outputs:
        check_rank(indices.shape, 2)
        check_rank(matrix.shape, 2)
        sizes = constant_value_as_shape(shape)
        check_rank(sizes, 2)
        sizes = sizes if sizes.rank else unknown_shape(2)
        matrix_shape = matrix.shape if matrix.shape.rank else unknown_shape(2)
        rows, inner = (sizes[1], sizes[0]) if adjoint_a else (sizes[0], sizes[1])
        other, columns = (
            (matrix_shape[1], matrix_shape[0]) if adjoint_b else (matrix_shape[0], matrix_shape[1])
        )
        if not inner.is_compatible_with(other):
            raise ShapeConflict(f"Dimensions must be equal, but are {inner} and {other}")
        return [(elements.dtype.base_dtype, TensorShape([rows, columns]))]

    def kernel(indices: Array, elements: Array, sizes: Array, matrix: Array) -> Array:
        if matrix.ndim != 2:
            fail(f"Tensor 'b' is not a matrix: it has shape {bracketed(matrix.shape)}")
        if sizes.shape != (2,) or indices.shape != (len(elements), 2):
            fail(
                f"Tensor 'a' has shape {bracketed(sizes.tolist())} and indices of shape "
                f"{bracketed(indices.shape)}, expected a matrix with two indices for each "
                "element"
            )
        wrong = np.flatnonzero(((indices < 0) | (indices >= sizes)).any(axis=1))
        if len(wrong):
            index = bracketed(indices[wrong[0]].tolist())
            shape = bracketed(sizes.tolist())
            fail(f"indices[{wrong[0]}] = {index} is out of bounds: need 0 <= index < {shape}")
        rows, inner = (
            (indices[:, 1], indices[:, 0]) if adjoint_a else (indices[:, 0], indices[:, 1])
        )
        height, depth = (int(size) for size in (sizes[::-1] if adjoint_a else sizes))
        factor = np.conj(matrix.T) if adjoint_b else matrix
        if depth != len(factor):
            fail(
                f"Cannot multiply A and B because inner dimension does not match: {depth} vs. "
                f"{len(factor)}.  Did you forget a transpose?  Dimensions of A: "
                f"[{height}, {depth}).  Dimensions of B: {bracketed(factor.shape)}"
            )
        check_array([height, factor.shape[1]], factor.dtype)
        product = np.zeros((height, factor.shape[1]), factor.dtype)
        if not len(elements):
            return product
        weights = np.conj(elements) if adjoint_a else elements
        if (np.diff(rows) < 0).any():
            order = np.argsort(rows, kind="stable")
            rows, inner, weights = rows[order], inner[order], weights[order]
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        terms = weights[:, None] * factor[inner]
        product[rows[begins]] = np.add.reduceat(terms, begins, axis=0, dtype=terms.dtype)
        return product

    inputs = [
        Input("a_indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("a_values", values, allowed=NUMBERS),
        Input("a_shape", dense_shape, dtypes.int64),
        Input("b", dense),
    ]
    attrs = {"adjoint_a": bool(adjoint_a), "adjoint_b": bool(adjoint_b)}
    op = apply_op("SparseTensorDenseMatMul", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _computed_by(op: Operation) -> KernelKind:
    is_real = op.inputs[1].dtype.base_dtype in REALS
    return KernelKind.BY_ENGINE if is_real else KernelKind.BY_NUMPY


define("SparseTensorDenseMatMul", computed=_computed_by)
