"""Joining strings.

Source: `tf.string_join` and `tf.reduce_join` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import InputList, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, made_again
from headrace.ops.framework.inference import merge_shapes
from headrace.ops.framework.kernel import Array, by_either, fail, string_array

__all__ = ["string_join"]


def string_join(
    inputs: Sequence[TensorLike], separator: str | bytes = "", name: str | None = None
) -> Tensor:
    """Concatenates strings elementwise.

    Args:
        inputs: A list of string tensors of the same shape. A scalar is used for every element.
        separator: The string to insert between two parts.
        name: Name of the operation.

    Raises:
        TypeError: If an input does not contain strings, or `inputs` is not a list.
        ValueError: If the shapes differ.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected list for 'inputs' argument to 'StringJoin' Op, not {inputs!r}.")
    if not inputs:
        raise ValueError(
            "List argument 'inputs' to 'StringJoin' Op with length 0 shorter than minimum length 1."
        )

    def infer(*tensors: Tensor) -> Outputs:
        shape = unknown_shape()
        for tensor in tensors:
            if tensor.shape.rank != 0:
                shape = merge_shapes(shape, tensor.shape)
        all_scalar = all(tensor.shape.rank == 0 for tensor in tensors)
        return [(dtypes.string, tensors[0].shape if all_scalar else shape)]

    def kernel(*arrays: Array) -> Array:
        shapes = [array.shape for array in arrays if array.ndim]
        for shape in shapes:
            if shape != shapes[0]:
                fail(f"Input shapes do not match: {bracketed(shapes[0])} vs. {bracketed(shape)}")
        between = separator.encode() if isinstance(separator, str) else separator
        output_shape = shapes[0] if shapes else ()
        columns = [np.broadcast_to(array, output_shape).ravel() for array in arrays]
        return string_array([between.join(row) for row in zip(*columns, strict=True)], output_shape)

    attrs = {"N": len(inputs), "separator": separator}
    values = [InputList("inputs", inputs, dtypes.string)]
    return apply_op("StringJoin", values, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _join_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    ranks = {item.row.shape.rank for item in inputs if item.is_batched}
    # A scalar applies to every element of a row, but in a block it would be a vector of a different
    # shape.
    is_simple = len(ranks) == 1 and None not in ranks
    is_simple &= all(item.is_batched or item.row.shape.rank == 0 for item in inputs)
    return made_again(op, [item.block for item in inputs]) if is_simple else None


define("StringJoin", computed=by_either, batch_rule=_join_blocks)
