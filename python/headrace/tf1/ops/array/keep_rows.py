"""Selects a tensor's rows with a bool vector."""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.inference import ShapeConflict

__all__ = ["keep_rows"]


def keep_rows(tensor: TensorLike, keep: TensorLike, name: str | None = None) -> Tensor:
    """Returns the rows of a tensor whose bool is true.

    Args:
        tensor: A tensor of rank 1 or more.
        keep: A vector of bools, one for each row.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if the numbers of bools and rows differ.
        ValueError: If the numbers are known to differ, or the ranks are wrong.

    Source: `tf.dynamic_partition`, as used by the batching functions in TensorFlow 1.15.
    """
    inputs = [Input("data", tensor), Input("partitions", keep, dtypes.bool)]
    return apply_op("KeepRows", inputs, _infer, name=name).outputs[0]


def _infer(tensor: Tensor, keep: Tensor) -> list[tuple[dtypes.DType, TensorShape]]:
    shape = tensor.shape.with_rank_at_least(1)
    if not shape[:1].is_compatible_with(keep.shape.with_rank(1)):
        raise ShapeConflict(f"Dimensions must be equal, but are {shape[0]} and {keep.shape[0]}")
    row = shape[1:] if shape.rank is not None else TensorShape(None)
    return [(tensor.dtype.base_dtype, TensorShape([None]).concatenate(row))]


define("KeepRows", is_own=True)
