"""Repeating a tensor along its axes.

Source: `tf.tile` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, known_integers, made_with_integers
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["tile"]


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Repeats a whole tensor along its axes.

    Args:
        input: The tensor.
        multiples: The number of copies along each axis, an integer vector.
        name: Name of the operation.

    Raises:
        ValueError: If `multiples` does not have one entry per axis.
    """
    inputs = [
        Input("input", input),
        Input("multiples", multiples, var="Tmultiples", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    def kernel(x: Array, times: Array) -> Array:
        if times.size != x.ndim:
            fail(
                f"Expected multiples argument to be a vector of length {x.ndim} but got length "
                f"{times.size}"
            )
        for axis, factor in enumerate(times.tolist()):
            if factor < 0:
                fail(f"Expected multiples[{axis}] >= 0, but got {factor}")
        sizes = [size * factor for size, factor in zip(x.shape, times.tolist(), strict=True)]
        check_array(sizes, x.dtype)
        return np.tile(x, times)

    return apply_op("Tile", inputs, _infer_tile, name=name, kernel=kernel).outputs[0]


def _infer_tile(tensor: Tensor, multiples: Tensor) -> Outputs:
    check_rank(multiples.shape, 1)
    times = constant_value_as_shape(multiples)
    rank = times.rank if tensor.shape.rank is None else tensor.shape.rank
    if rank is None or tensor.shape.rank is None or times.rank is None:
        return [(tensor.dtype.base_dtype, unknown_shape(rank))]
    check_rank(times, tensor.shape.rank)
    sizes = [size * factor for size, factor in zip(tensor.shape, times, strict=True)]
    return [(tensor.dtype.base_dtype, TensorShape(sizes))]


def _tile_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, multiples = inputs
    times = known_integers(multiples.row)
    return None if times is None else made_with_integers(op, block, [(multiples.row, [1, *times])])


define("Tile", computed=by_either, batch_rule=_tile_blocks)
