"""Distinct elements of vectors, and the set difference of two vectors.

Source: `tf.unique` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import vector
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["setdiff1d", "unique", "unique_with_counts"]


class Unique(NamedTuple):
    """The result of `unique`.

    Attributes:
        y: The distinct elements, in the order of their first occurrence.
        idx: The index in `y` of each element of the argument.
    """

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The result of `unique_with_counts`.

    Attributes:
        y: The distinct elements, in the order of their first occurrence.
        idx: The index in `y` of each element of the argument.
        count: The number of occurrences of each element in `y`.
    """

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # tuples have a method of that name


class ListDiff(NamedTuple):
    """The result of `setdiff1d`.

    Attributes:
        out: The remaining elements, in order.
        idx: The indices of these elements in the argument.
    """

    out: Tensor
    idx: Tensor


def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Unique:
    """Returns the distinct elements of a vector. NaN is not equal to itself.

    Args:
        x: The vector.
        out_idx: The type of the indices: int32 or int64.
        name: Name of the operation.
    """
    return Unique(*_find_unique("Unique", x, out_idx, name, 2))


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """Returns the distinct elements of a vector and their counts.

    Args:
        x: The vector.
        out_idx: The type of the indices and counts: int32 or int64.
        name: Name of the operation.
    """
    return UniqueWithCounts(*_find_unique("UniqueWithCounts", x, out_idx, name, 3))


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None
) -> ListDiff:
    """Returns the elements of a vector that are not in a second vector.

    Args:
        x: The vector.
        y: The elements to omit, a vector.
        index_dtype: The type of the indices: int32 or int64.
        name: Name of the operation.
    """
    kind = type_attr("out_idx", index_dtype, INDEX_TYPES)

    def infer(all_of: Tensor, without: Tensor) -> Outputs:
        check_rank(all_of.shape, 1)
        check_rank(without.shape, 1)
        return [(all_of.dtype.base_dtype, vector(None)), (kind, vector(None))]

    def kernel(all_of: Array, without: Array) -> tuple[Array, Array]:
        for array, what in ((all_of, "x"), (without, "y")):
            if array.ndim != 1:
                fail(f"{what} should be a 1D vector.")
        excluded = set(without.tolist())
        left = [index for index, item in enumerate(all_of.tolist()) if item not in excluded]
        indices = np.array(left, dtype=np.int64)
        return all_of[indices], indices

    inputs = [Input("x", x), Input("y", y)]
    attrs = {"out_idx": kind}
    return ListDiff(
        *apply_op("ListDiff", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs
    )


def _find_unique(
    op_type: str, x: TensorLike, out_idx: DTypeLike, name: str | None, num_outputs: int
) -> list[Tensor]:
    kind = type_attr("out_idx", out_idx, INDEX_TYPES)

    def infer(tensor: Tensor) -> Outputs:
        check_rank(tensor.shape, 1)
        indices = (kind, tensor.shape)
        return [(tensor.dtype.base_dtype, vector(None)), indices, (kind, vector(None))][
            :num_outputs
        ]

    def kernel(array: Array) -> tuple[Array, ...]:
        if array.ndim != 1:
            fail("unique expects a 1D vector.")
        # NumPy sorts the elements, but TensorFlow keeps them in order of first occurrence.
        _, firsts, indices, counts = np.unique(
            array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
        )
        order = np.argsort(firsts)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return (array[firsts[order]], rank[indices], counts[order])[:num_outputs]

    attrs = {"out_idx": kind}
    op = apply_op(op_type, [Input("x", x)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs


define("ListDiff")
define("Unique")
define("UniqueWithCounts")
