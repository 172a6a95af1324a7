"""Reductions over axes, and the place of the largest or smallest element.

Source: `tf.reduce_sum` and its kin, `tf.argmax` and `tf.argmin` of TensorFlow 1.15.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.dtypes import DType, as_dtype
from headrace.graph import Tensor
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant
from headrace.ops.elementwise import NUMBERS, REALS
from headrace.ops.folding import fold, register_folding
from headrace.ops.inference import check_axis, reduce_shape
from headrace.ops.kernel import Array, fail
from headrace.ops.placeholders import rank
from headrace.ops.sequences import range
from headrace.shapes import TensorShape, unknown_shape

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]

# (array, axes, keepdims) -> array
Reducer = Callable[[Array, tuple[int, ...], bool], Any]
_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)


def reduce_sum(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Returns the sum over some axes.

    Args:
        input_tensor: What to reduce.
        axis: An axis or a list of axes; None for all.
        keepdims: Whether reduced axes stay, with size 1.
        name: Name of the operation.
        reduction_indices: Old name of `axis`.
        keep_dims: Old name of `keepdims`.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: If there is no such axis, or both an old and a new name are given.
    """
    old = (reduction_indices, keep_dims)
    return _reduce("Sum", input_tensor, axis, keepdims, name, old, NUMBERS, _sum)
