"""Elementwise operations on two tensors, at least one of which is sparse.

Source: `tf.sparse_add`, `tf.sparse_maximum` and `tf.sparse_minimum` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import overload

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES, NUMBERS, REALS
from headrace.ops.framework.inference import check_rank
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_add", "sparse_maximum", "sparse_minimum"]


@overload
def sparse_add(
    a: SparseTensor | SparseTensorValue,
    b: SparseTensor | SparseTensorValue,
    threshold: TensorLike = ...,
) -> SparseTensor: ...


@overload
def sparse_add(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    threshold: TensorLike = ...,
) -> SparseTensor | Tensor: ...


def sparse_add(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    threshold: TensorLike = 0,
) -> SparseTensor | Tensor:
    """Adds two tensors of the same shape and type. One tensor can be dense.

    Args:
        a: The first tensor.
        b: The second tensor.
        threshold: For two sparse tensors, a scalar: sums with a smaller absolute value are omitted,
            and so are NaNs. Elements that only one tensor has are always kept.

    Returns:
        A sparse tensor, or a dense tensor if an input is dense. If both inputs are sparse, their
        elements must be in order.

    Raises:
        InvalidArgumentError: At run time, if the shapes differ.
        TypeError: If both are dense, or types differ.
        ValueError: If both are sparse and their shapes are known to differ.
    """
    kinds = (SparseTensor, SparseTensorValue)
    if isinstance(a, kinds) and isinstance(b, kinds):
        return _sum(as_sparse_tensor(a), as_sparse_tensor(b), threshold)
    sparse, dense = (a, b) if isinstance(a, kinds) else (b, a)
    if not isinstance(sparse, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    parts = as_sparse_tensor(sparse)
    return sum_with_parts(
        parts.indices,
        parts.values,
        parts.dense_shape,
        dense,  # type: ignore[arg-type]
    )


def sparse_maximum(
    sp_a: SparseTensor | SparseTensorValue,
    sp_b: SparseTensor | SparseTensorValue,
    name: str | None = None,
) -> SparseTensor:
    """Returns the larger elements of two sparse tensors of the same shape and type.

    An element that only one tensor has is compared with 0. Elements must be in order.

    Args:
        sp_a: The first tensor.
        sp_b: The second tensor.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if the shapes differ.
        TypeError: If the inputs are not sparse tensors of real numbers, or their types differ.
    """
    return _extreme("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(
    sp_a: SparseTensor | SparseTensorValue,
    sp_b: SparseTensor | SparseTensorValue,
    name: str | None = None,
) -> SparseTensor:
    """Returns the smaller elements of two sparse tensors of the same shape and type.

    An element that only one tensor has is compared with 0. Elements must be in order.

    Args:
        sp_a: The first tensor.
        sp_b: The second tensor.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if the shapes differ.
        TypeError: If the inputs are not sparse tensors of real numbers, or their types differ.
    """
    return _extreme("SparseSparseMinimum", sp_a, sp_b, name)


def _sum(a: SparseTensor, b: SparseTensor, threshold: TensorLike) -> SparseTensor:
    least = convert_to_tensor(threshold, a.dtype.real_dtype.base_dtype, name="thresh")

    def infer(indices: Tensor, values: Tensor, shape: Tensor, *_: Tensor) -> Outputs:
        width = indices.shape[1] if indices.shape.rank == 2 else None
        return [
            (dtypes.int64, TensorShape([None, width])),
            (values.dtype.base_dtype, TensorShape([None])),
            (dtypes.int64, shape.shape),
        ]

    inputs = [*_inputs("a", a, NUMBERS), *_inputs("b", b, None)]
    inputs.append(Input("thresh", least, var="Treal"))
    indices, values, dense_shape = apply_op("SparseAdd", inputs, infer).outputs
    a.shape.assert_is_compatible_with(b.shape)
    static_shape = a.shape.merge_with(b.shape)
    if static_shape.is_fully_defined():
        dense_shape = constant(static_shape, dtypes.int64)
    return SparseTensor(indices, values, dense_shape)


def sum_with_parts(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    dense: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Adds a sparse tensor, given by its parts, to a dense one.

    Args:
        indices: The positions of the elements, int32 or int64.
        values: The elements.
        dense_shape: The shape.
        dense: The dense tensor, of the same shape.
        name: Name of the operation.
    """
    inputs = [
        Input("a_indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("a_values", values, allowed=NUMBERS),
        Input("a_shape", dense_shape, var="Tindices"),
        Input("b", dense),
    ]

    def infer(indices: Tensor, elements: Tensor, _: Tensor, dense: Tensor) -> Outputs:
        check_rank(indices.shape, 2)
        return [(elements.dtype.base_dtype, dense.shape)]

    return apply_op("SparseTensorDenseAdd", inputs, infer, name=name).outputs[0]


def _extreme(
    op_type: str,
    a: SparseTensor | SparseTensorValue,
    b: SparseTensor | SparseTensorValue,
    name: str | None,
) -> SparseTensor:
    a, b = as_sparse_tensor(a), as_sparse_tensor(b)
    with name_scope(name, op_type, [a.indices, b.indices]) as scope:

        def infer(_: Tensor, values: Tensor, *__: Tensor) -> Outputs:
            return [
                (dtypes.int64, TensorShape([None, None])),
                (values.dtype.base_dtype, TensorShape([None])),
            ]

        inputs = [*_inputs("a", a, REALS), *_inputs("b", b, None)]
        indices, values = apply_op(op_type, inputs, infer, name=scope).outputs
        return SparseTensor(indices, values, a.dense_shape)


def _inputs(
    prefix: str, sparse: SparseTensor, allowed: tuple[dtypes.DType, ...] | None
) -> list[Input]:
    return [
        Input(f"{prefix}_indices", sparse.indices, dtypes.int64),
        Input(f"{prefix}_values", sparse.values, allowed=allowed),
        Input(f"{prefix}_shape", sparse.dense_shape, dtypes.int64),
    ]


define("SparseAdd")
define("SparseSparseMaximum")
define("SparseSparseMinimum")
define("SparseTensorDenseAdd")
