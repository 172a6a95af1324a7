"""Masks for sequences of different lengths.

Source: `tf.sequence_mask` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import less
from headrace.ops.math.reduce import reduce_max

__all__ = ["sequence_mask"]


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = dtypes.bool,
    name: str | None = None,
) -> Tensor:
    """Returns a mask that is true for the first elements of each row.

    Args:
        lengths: The number of true elements in each row, an integer tensor.
        maxlen: The length of the rows, a scalar. Defaults to the maximum of `lengths`.
        dtype: The type of the mask.
        name: Name of the scope.

    Returns:
        A tensor that has one more axis than `lengths`.

    Raises:
        ValueError: If `maxlen` is not a scalar.

    Examples:
        >>> mask = hr.native(lambda example: {"mask": hr.ops.sequence_mask(example["length"])})
        >>> mask({"length": np.array([1, 3])})
        {'mask': array([[ True, False, False],
               [ True,  True,  True]])}
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = reduce_max(lengths)
            longest = maximum(constant(0, longest.dtype), longest)
        else:
            longest = convert_to_tensor(maxlen)
        if longest.shape.rank not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        positions = range_of(constant(0, longest.dtype), longest, constant(1, longest.dtype))
        mask = less(positions, cast(expand_dims(lengths, -1), longest.dtype))
        return cast(mask, as_dtype(dtype))
