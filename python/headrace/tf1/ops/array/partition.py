"""Partitions a tensor by partition numbers in the data, and stitches parts together.

Source: `tf.dynamic_partition`, `tf.dynamic_stitch` and `tf.invert_permutation` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, fail

__all__ = ["dynamic_partition", "dynamic_stitch", "invert_permutation"]


# Partition numbers are int32, and each partition is a separate output.
_MOST_PARTS: Final = 2**31 - 1


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Partitions the slices of a tensor.

    Args:
        data: The tensor.
        partitions: The part number for each slice, int32. The shape matches the first axes of
            `data`.
        num_partitions: The number of parts.
        name: Name of the operation.

    Returns:
        The parts, each with its slices in the original order.

    Raises:
        InvalidArgumentError: At run time, if a number is not in [0, num_partitions).
        ValueError: If `num_partitions` is less than 1, or the shapes do not match.
    """
    if num_partitions > _MOST_PARTS:
        raise ValueError(
            "Attr 'num_partitions' of 'DynamicPartition' Op: Value out of range: "
            f"{num_partitions}, expected at most {_MOST_PARTS}. Use fewer parts."
        )
    if num_partitions < 1:
        raise ValueError(
            f"Attr 'num_partitions' of 'DynamicPartition' Op passed {num_partitions} less "
            "than minimum 1. Use at least one part."
        )

    def infer(tensor: Tensor, numbers: Tensor) -> Outputs:
        rest = _after_prefix(tensor.shape, numbers.shape)
        shape = rest if rest.rank is None else TensorShape([None]).concatenate(rest)
        return [(tensor.dtype.base_dtype, shape)] * num_partitions

    def kernel(array: Array, numbers: Array) -> Array | tuple[Array, ...]:
        if array.shape[: numbers.ndim] != numbers.shape:
            fail(
                "data.shape must start with partitions.shape, got data.shape = "
                f"{bracketed(array.shape)}, partitions.shape = {bracketed(numbers.shape)}"
            )
        wrong = np.argwhere((numbers < 0) | (numbers >= num_partitions))
        if wrong.size or (wrong.ndim and len(wrong)):
            where = tuple(wrong[0])
            at = f"[{','.join(map(str, where))}]" if where else ""
            fail(f"partitions{at} = {numbers[where]} is not in [0, {num_partitions})")
        parts = [array[numbers == number] for number in range(num_partitions)]
        return tuple(parts) if num_partitions > 1 else parts[0]

    inputs = [Input("data", data), Input("partitions", partitions, dtypes.int32)]
    attrs = {"num_partitions": num_partitions}
    op = apply_op("DynamicPartition", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs


def dynamic_stitch(
    indices: Iterable[TensorLike], data: Iterable[TensorLike], name: str | None = None
) -> Tensor:
    """Combines slices of several tensors into one tensor.

    Args:
        indices: A list of int32 tensors: the index of each slice in the result.
        data: A list of the same length. The shape of each tensor starts with the shape of its
            indices.
        name: Name of the operation.

    Returns:
        A tensor just long enough for the largest index. If several slices have the same index, the
        last one is used. Missing slices are zero.

    Raises:
        InvalidArgumentError: At run time, if an index is negative.
        ValueError: If the lists are empty or differ in length, or shapes do not match.
    """
    indices, data = list(indices), list(data)
    if not indices:
        raise ValueError(
            "List argument 'indices' to 'DynamicStitch' Op with length 0 shorter than minimum "
            "length 1."
        )
    if len(indices) != len(data):
        raise ValueError(
            f"List argument 'data' to 'dynamic_stitch' Op with length {len(data)} must match "
            f"length {len(indices)} of argument 'indices'."
        )
    count = len(indices)

    def infer(*tensors: Tensor) -> Outputs:
        rest = unknown_shape()
        for indices, slices in zip(tensors[:count], tensors[count:], strict=True):
            rest = merge_shapes(rest, _after_prefix(slices.shape, indices.shape))
        static = [fold(indices) for indices in tensors[:count]]
        length = None
        if all(value is not None for value in static):
            length = max((int(v.max()) + 1 for v in static if v is not None and v.size), default=0)
        shape = rest if rest.rank is None else TensorShape([length]).concatenate(rest)
        return [(tensors[count].dtype.base_dtype, shape)]

    def kernel(*arrays: Array) -> Array:
        pairs = list(zip(arrays[:count], arrays[count:], strict=True))
        row = pairs[0][1].shape[pairs[0][0].ndim :]
        length = max((int(indices.max()) + 1 for indices, _ in pairs if indices.size), default=0)
        check_array([length, *row], arrays[count].dtype)
        stitched = np.zeros((length, *row), dtype=arrays[count].dtype)
        if stitched.dtype == object:
            stitched.fill(b"")
        for number, (indices, slices) in enumerate(pairs):
            if slices.shape != indices.shape + row:
                fail(
                    f"data[{number}].shape = {bracketed(slices.shape)} does not start with "
                    f"indices[{number}].shape = {bracketed(indices.shape)} and end with "
                    f"{bracketed(row)}"
                )
            flat = indices.ravel()
            if (flat < 0).any():
                fail(f"indices[{np.flatnonzero(flat < 0)[0]}] is out of range")
            stitched[flat] = slices.reshape(flat.size, *row)
        return stitched

    inputs = [InputList("indices", indices, dtypes.int32), InputList("data", data)]
    attrs = {"N": count}
    op = apply_op("DynamicStitch", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of a permutation.

    Args:
        x: The permutation, an integer vector that contains each number from 0 to its length - 1
            once.
        name: Name of the operation.

    Returns:
        A vector of the same type.

    Raises:
        InvalidArgumentError: At run time, if the input is not a permutation.
    """

    def infer(tensor: Tensor) -> Outputs:
        check_rank(tensor.shape, 1)
        shape = merge_shapes(tensor.shape, unknown_shape(1))
        return [(tensor.dtype.base_dtype, shape)]

    def kernel(array: Array) -> Array:
        if array.ndim != 1:
            fail("invert_permutation expects a 1D vector.")
        inverse = np.full(array.size, -1, dtype=array.dtype)
        for position, number in enumerate(array.tolist()):
            if not 0 <= number < array.size:
                fail(f"{number} is not between 0 and {array.size}")
            if inverse[number] != -1:
                fail(f"{number} is duplicated in the input.")
            inverse[number] = position
        return inverse

    inputs = [Input("x", x, allowed=INDEX_TYPES)]
    return apply_op("InvertPermutation", inputs, infer, name=name, kernel=kernel).outputs[0]


def _after_prefix(shape: TensorShape, prefix: TensorShape) -> TensorShape:
    """Returns a shape's remaining axes, after the prefix that must match another shape."""
    if prefix.rank is None or shape.rank is None:
        return unknown_shape()
    if shape.rank < prefix.rank:
        raise ShapeConflict(f"Shape must be at least rank {prefix.rank} but is rank {shape.rank}")
    for size, other in zip(shape[: prefix.rank], prefix, strict=True):
        if not size.is_compatible_with(other):
            raise ShapeConflict(f"Dimensions must be equal, but are {size} and {other}")
    return shape[prefix.rank :]


define("DynamicPartition")
define("DynamicStitch")
define("InvertPermutation")
