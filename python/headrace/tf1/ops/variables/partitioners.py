"""Partitioners: functions that return the number of parts of a variable.

Variables are not partitioned here, because one process holds all variables. `get_variable` rejects
a `partitioner`. These functions are for programs that create or call a partitioner.

Source: `tf.fixed_size_partitioner` and similar functions in TensorFlow 1.15.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from headrace.core.dtypes import DType, DTypeLike, as_dtype, string
from headrace.core.shapes import ShapeLike, TensorShape, as_shape

__all__ = [
    "fixed_size_partitioner",
    "min_max_variable_partitioner",
    "variable_axis_size_partitioner",
]

# A function from the shape and dtype of a variable to the number of parts along each axis.
_Partitioner: TypeAlias = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> _Partitioner:
    """Returns a function that splits a variable into a fixed number of parts.

    Args:
        num_shards: The number of parts. A shorter axis is split into single rows.
        axis: The axis to split.
    """

    def partition(shape: ShapeLike, dtype: DTypeLike | None = None) -> list[int]:
        sizes = as_shape(shape).as_list()
        return _parts(len(sizes), axis, min(num_shards, _size(sizes[axis])))

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> _Partitioner:
    """Returns a function that splits a variable into parts of a maximum size.

    Args:
        max_shard_bytes: The maximum size of a part in bytes. A larger row becomes a separate part.
        axis: The axis to split.
        bytes_per_string_element: The size of a string in bytes.
        max_shards: The maximum number of parts. Defaults to no limit.

    Raises:
        ValueError: If a number is not positive. Also raised by the returned function if its
            arguments are not a known `TensorShape` and a `DType`.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently: "
            f"max_shard_bytes={max_shard_bytes}, "
            f"bytes_per_string_element={bytes_per_string_element}"
        )
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partition(shape: TensorShape, dtype: DType) -> list[int]:
        if not isinstance(shape, TensorShape):
            raise ValueError(f"shape is not a TensorShape: {shape}")
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        if not isinstance(dtype, DType):
            raise ValueError(f"dtype is not a DType: {dtype}")
        sizes = [_size(size) for size in shape.as_list()]
        row_bytes = math.prod(sizes) / sizes[axis] * _bytes_of(dtype, bytes_per_string_element)
        rows = max(1, math.floor(max_shard_bytes / row_bytes))
        parts = math.ceil(sizes[axis] / rows)
        return _parts(len(sizes), axis, min(max_shards, parts) if max_shards else parts)

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> _Partitioner:
    """Returns a function that splits a variable into parts of a minimum size.

    Args:
        max_partitions: The maximum number of parts.
        axis: The axis to split.
        min_slice_size: The minimum size of a part in bytes.
        bytes_per_string_element: The size of a string in bytes.

    Returns:
        The function, which raises ValueError if the variable does not have the axis.
    """

    def partition(shape: TensorShape, dtype: DTypeLike) -> list[int]:
        sizes = [_size(size) for size in as_shape(shape).as_list()]
        if axis >= len(sizes):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only {shape}"
            )
        num_bytes = math.prod(sizes) * _bytes_of(as_dtype(dtype), bytes_per_string_element)
        num_slices = math.ceil(num_bytes / min_slice_size)
        return _parts(len(sizes), axis, max(1, min(sizes[axis], max_partitions, num_slices)))

    return partition


def _parts(rank: int, axis: int, count: int) -> list[int]:
    parts = [1] * rank
    parts[axis] = count
    return parts


def _size(size: int | None) -> int:
    if size is None:
        raise ValueError("The shape is not fully defined.")
    return size


def _bytes_of(dtype: DType, bytes_per_string_element: int) -> int:
    return bytes_per_string_element if dtype.base_dtype == string else dtype.size
