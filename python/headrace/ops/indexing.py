"""Parts of a tensor: `tf.slice`, `tf.strided_slice` and `tensor[...]`.

Source: `tf.Tensor.__getitem__` of TensorFlow 1.15.
"""

import sys
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph import Tensor, name_scope
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant, convert_to_tensor
from headrace.ops.filling import ones_like
from headrace.ops.folding import fold
from headrace.ops.inference import ShapeConflict, check_rank
from headrace.ops.joining import stack
from headrace.ops.kernel import Array, fail
from headrace.ops.raw import cast_tensor
from headrace.ops.selection import boolean_mask
from headrace.shapes import Dimension, TensorShape, bracketed, unknown_shape

__all__ = ["get_item", "newaxis", "slice", "strided_slice"]

newaxis: Final = None
_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)
_PythonSlice = __builtins__["slice"] if isinstance(__builtins__, dict) else __builtins__.slice


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Returns the part of a tensor that begins somewhere and has some size.

    Args:
        input_: The tensor.
        begin: Where the part begins, an integer vector with an entry for each axis.
        size: Its size along each axis; -1 for all that is left.
        name: Name of the operation.

    Raises:
        ValueError: If there is not one entry an axis.
    """
    inputs = [
        Input("input", input_),
        Input("begin", begin, var="Index", allowed=_INDEX_TYPES),
        Input("size", size, var="Index", allowed=_INDEX_TYPES),
    ]
    return apply_op("Slice", inputs, _infer_slice, name=name, kernel=_slice).outputs[0]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the part of a tensor that Python's `input_[begin:end:strides, ...]` names.

    Args:
        input_: The tensor.
        begin: Where the part begins, an integer vector with an entry for each index.
        end: Where it ends.
        strides: The steps; None for 1 everywhere.
        begin_mask: Bit i: the i-th index begins at the beginning.
        end_mask: Bit i: the i-th index ends at the end.
        ellipsis_mask: Bit i: the i-th index is `...`.
        new_axis_mask: Bit i: the i-th index is a new axis.
        shrink_axis_mask: Bit i: the i-th index is an int, and its axis disappears.
        var: Not used.
        name: Name of the operation.

    Raises:
        ValueError: If an index is out of bounds, or there are too many.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    inputs = [
        Input("input", input_),
        Input("begin", begin, var="Index", allowed=_INDEX_TYPES),
        Input("end", end, var="Index", allowed=_INDEX_TYPES),
        Input("strides", strides, var="Index", allowed=_INDEX_TYPES),
    ]

    def infer(tensor: Tensor, first: Tensor, last: Tensor, step: Tensor) -> Any:
        return [(tensor.dtype.base_dtype, _infer_strided(tensor.shape, first, last, step, masks))]

    def kernel(x: Array, first: Array, last: Array, step: Array) -> Any:
        index = _Index(masks, first.size, x.ndim, fail)
        return index.take(x, first.tolist(), last.tolist(), step.tolist())

    op = apply_op(
        "StridedSlice", inputs, infer, name=name or "StridedSlice", attrs=masks, kernel=kernel
    )
    return op.outputs[0]
