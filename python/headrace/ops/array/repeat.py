"""Repeating elements.

Source: `tf.repeat` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.dtypes import int64
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.broadcast import broadcast_to
from headrace.ops.array.gather import gather
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape
from headrace.ops.array.sort import searchsorted
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.ops.math.cumsum import cumsum
from headrace.ops.math.reduce import reduce_sum

__all__ = ["repeat"]


def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Repeats the slices of a tensor along an axis.

    Args:
        input: The tensor.
        repeats: The number of copies of each slice: an integer for all slices, or a vector with one
            number per slice.
        axis: The axis. By default, the tensor is flattened first.
        name: Name of the scope.
    """
    with name_scope(name, "Repeat", [input, repeats]):
        tensor = convert_to_tensor(input, name="input")
        times = convert_to_tensor(repeats, name="repeats")
        if axis is None:
            tensor, axis = reshape(tensor, [-1]), 0
        length = shape(tensor)[axis]
        each = broadcast_to(cast(reshape(times, [-1]), int64), reshape(length, [1]))
        ends = cumsum(each)
        indices = searchsorted(ends, range_of(reduce_sum(each)), side="right")
        return gather(tensor, indices, axis=axis)
