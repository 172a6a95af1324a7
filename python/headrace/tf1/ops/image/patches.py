"""Extracts image patches and stores them in the channels.

Source: `tf.extract_image_patches` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["extract_image_patches"]

_PADDINGS: Final = ("SAME", "VALID")


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Returns the patches of images.

    Args:
        images: Numbers, (batch, height, width, channels).
        ksizes: The size of a patch, `[1, rows, columns, 1]`.
        strides: The distance between the centres of two patches, `[1, rows, columns, 1]`.
        rates: The distance between the pixels of a patch, `[1, rows, columns, 1]`.
        padding: "VALID" for patches that lie inside the image. "SAME" for a patch around every
            pixel that the strides select, with zeros outside the image.
        name: Name of the operation.

    Returns:
        A tensor of shape (batch, rows of patches, columns of patches, rows · columns · channels).

    Raises:
        TypeError: If an argument is not a list of integers.
        ValueError: If a list does not have the form above, or the padding does not exist.
    """
    arguments = {"ksizes": ksizes, "strides": strides, "rates": rates}
    sizes, steps, gaps = (_pair(what, value) for what, value in arguments.items())
    if padding not in _PADDINGS:
        raise ValueError(
            f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: "
            '"SAME", "VALID"'
        )

    def windows_along(length: int, axis: int) -> tuple[int, int]:
        """Returns the number of patches along an axis, and the offset of the first one."""
        spread = sizes[axis] + (sizes[axis] - 1) * (gaps[axis] - 1)
        if padding == "VALID":
            count = int((length - spread + steps[axis]) / steps[axis])
            if count < 0:
                raise ShapeConflict(
                    f"Computed output size would be negative: {count} [input_size: {length}, "
                    f"effective_filter_size: {spread}, stride: {steps[axis]}]"
                )
            return count, 0
        count = -(-length // steps[axis])
        return count, -(max((count - 1) * steps[axis] + spread - length, 0) // 2)

    def infer(tensor: Tensor) -> Outputs:
        check_rank(tensor.shape, 4)
        batch, height, width, depth = (size.value for size in tensor.shape.with_rank(4))
        counts = [
            None if length is None else windows_along(length, axis)[0]
            for axis, length in enumerate((height, width))
        ]
        channels = None if depth is None else sizes[0] * sizes[1] * depth
        return [(tensor.dtype.base_dtype, TensorShape([batch, *counts, channels]))]

    def kernel(array: Array) -> Array:
        if array.ndim != 4:
            fail(f"input must be 4-dimensional{bracketed(array.shape)}")
        batch, height, width, depth = array.shape
        try:
            (rows, top), (columns, left) = windows_along(height, 0), windows_along(width, 1)
        except ShapeConflict as conflict:
            fail(str(conflict))
        shape = (batch, rows, columns, sizes[0], sizes[1], depth)
        check_array(shape, array.dtype)
        patches = np.zeros(shape, dtype=array.dtype)
        for row in range(sizes[0]):
            ys = top + np.arange(rows) * steps[0] + row * gaps[0]
            y_inside = np.flatnonzero((ys >= 0) & (ys < height))
            for column in range(sizes[1]):
                xs = left + np.arange(columns) * steps[1] + column * gaps[1]
                x_inside = np.flatnonzero((xs >= 0) & (xs < width))
                pixels = array[:, ys[y_inside]][:, :, xs[x_inside]]
                patches[:, y_inside[:, None], x_inside, row, column] = pixels
        return patches.reshape(batch, rows, columns, sizes[0] * sizes[1] * depth)

    attrs = {what: list(value) for what, value in arguments.items()} | {"padding": padding}
    inputs = [Input("images", images, allowed=NUMBERS)]
    op = apply_op("ExtractImagePatches", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _pair(what: str, value: object) -> tuple[int, int]:
    """Checks `[1, rows, columns, 1]` and returns rows and columns."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Expected list for '{what}' argument to 'extract_image_patches' Op, not {value!r}."
        )
    if not all(isinstance(item, (int, np.integer)) for item in value):
        raise TypeError(f"Expected int for argument '{what}' not {value!r}.")
    if len(value) != 4:
        raise ShapeConflict(
            f"ExtractImagePatches requires the {what} attribute to contain 4 values, but got: "
            f"{len(value)}"
        )
    if value[0] != 1 or value[3] != 1:
        raise ShapeConflict(
            "Current implementation does not yet support patches in the batch and depth dimensions."
        )
    if value[1] < 1 or value[2] < 1:
        raise ShapeConflict(f"ExtractImagePatches requires {what} of at least 1, got {value}")
    return int(value[1]), int(value[2])


define("ExtractImagePatches")
