"""Differences between neighbouring pixels, and between images.

Source: `tf.image.total_variation`, `image_gradients`, `sobel_edges` and `psnr` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.fill import zeros
from headrace.ops.array.join import concat, stack
from headrace.ops.array.pad import pad
from headrace.ops.array.placeholder import identity
from headrace.ops.array.shape import shape
from headrace.ops.control.assertions import assert_equal
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.colour import convert_image_dtype
from headrace.ops.math.arithmetic import (
    abs as absolute,
)
from headrace.ops.math.arithmetic import (
    add,
    log,
    multiply,
    squared_difference,
    subtract,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.reduce import reduce_mean, reduce_sum

__all__ = ["image_gradients", "psnr", "sobel_edges", "total_variation"]


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sum of the absolute differences between neighbouring pixels.

    Args:
        images: An image or a batch of images, of a known rank.
        name: Name of the scope.

    Returns:
        A scalar, or one number per image, of the same type.

    Raises:
        ValueError: If the rank of `images` is not 3 or 4.
    """
    with name_scope(name, "total_variation"):
        tensor = convert_to_tensor(images)
        rank = tensor.shape.rank
        if rank not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        axis = 0 if rank == 3 else 1
        down, right = _neighbours(tensor, axis)
        axes = None if rank == 3 else [1, 2, 3]
        return add(reduce_sum(absolute(down), axes), reduce_sum(absolute(right), axes))


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns the difference between each pixel and the next pixel below and to the right.

    Args:
        image: Images, (batch, height, width, channels).

    Returns:
        Two tensors of the same shape and type. The last row of the first tensor and the last column
        of the second tensor are 0.

    Raises:
        ValueError: If `image` has the wrong rank.
    """
    tensor = convert_to_tensor(image)
    if tensor.shape.rank != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tensor.shape}."
        )
    batch, height, width, depth = (shape(tensor)[axis] for axis in range(4))
    down, right = _neighbours(tensor, 1)
    dtype = tensor.dtype.base_dtype
    below = zeros(stack([batch, 1, width, depth]), dtype)
    beside = zeros(stack([batch, height, 1, depth]), dtype)
    results = concat([down, below], 1), concat([right, beside], 2)
    for result in results:
        result.set_shape(tensor.shape)
    return results


def sobel_edges(image: TensorLike) -> Tensor:
    """Returns the edges of images, computed with Sobel filters.

    Args:
        image: Images, float32, (batch, height, width, channels).

    Returns:
        A tensor with a new last axis: how the image changes downwards and to the right.
    """
    tensor = convert_to_tensor(image, dtypes.float32)
    static_shape = tensor.shape.with_rank(4)
    wide = pad(tensor, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    height, width = shape(tensor)[1], shape(tensor)[2]

    def moved(row: int, column: int) -> Tensor:
        return wide[:, row : row + height, column : column + width]

    def weighed(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
        return add(add(first, multiply(2.0, second)), third)

    above, below = (weighed(*(moved(row, column) for column in range(3))) for row in (0, 2))
    left, right = (weighed(*(moved(row, column) for row in range(3))) for column in (0, 2))
    result = stack([subtract(below, above), subtract(right, left)], -1)
    result.set_shape(static_shape.concatenate([2]))
    return result


def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: str | None = None) -> Tensor:
    """Returns the peak signal-to-noise ratio of images, in decibels.

    Args:
        a: Images, (…, height, width, channels).
        b: Images of the same shape.
        max_val: The difference between the largest and the smallest possible pixel value.
        name: Name of the scope.

    Returns:
        One float32 per image.

    Raises:
        InvalidArgumentError: At run time, if the shapes differ.
        ValueError: If the shapes are known to differ, or have fewer than three axes.
    """
    with name_scope(name, "PSNR", [a, b]):
        first = convert_to_tensor(a)
        second = convert_to_tensor(b)
        peak = convert_image_dtype(cast(max_val, first.dtype.base_dtype), dtypes.float32)
        first = convert_image_dtype(first, dtypes.float32)
        second = convert_image_dtype(second, dtypes.float32)
        checks = _equal_shapes(first, second)
        error = reduce_mean(squared_difference(first, second), [-3, -2, -1])
        loudness = multiply(log(peak), np.float32(20 / math.log(10)))
        noise = multiply(np.float32(10 / math.log(10)), log(error))
        ratio = subtract(loudness, noise, name="psnr")
        return identity(with_dependencies(checks, ratio)) if checks else ratio


def _neighbours(images: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Returns the differences between rows (along `axis`) and between columns (the next axis)."""
    if axis == 0:
        down, right = subtract(images[1:], images[:-1]), subtract(images[:, 1:], images[:, :-1])
    else:
        down = subtract(images[:, 1:], images[:, :-1])
        right = subtract(images[:, :, 1:], images[:, :, :-1])
    return down, right


def _equal_shapes(a: Tensor, b: Tensor) -> list[Any]:
    """Checks that images have the same shape. Returns the checks left for the run."""
    for image in (a, b):
        image.shape.with_rank_at_least(3)
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"Incompatible shapes: {a.shape} and {b.shape}.")
    if a.shape.is_fully_defined() and b.shape.is_fully_defined():
        return []
    return [assert_equal(shape(a), shape(b), message="the images have different shapes")]
