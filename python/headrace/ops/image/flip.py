"""Flipping, transposing and rotating images.

Source: `tf.image.flip_left_right` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import fill
from headrace.ops.array.gather import gather
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.where import where
from headrace.ops.augment.targets import Move, affine_map, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank, like
from headrace.ops.image.frames import known_sizes, resized_shape, to_image
from headrace.ops.math.arithmetic import floormod
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import less

__all__ = ["flip_left_right", "flip_up_down", "rot90", "transpose_image"]

ROWS, COLUMNS = 0, 1


@takes_targets
def flip_left_right(image: TensorLike) -> Move:
    """Flips an image, or each image in a batch, horizontally.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).

    Returns:
        The flipped image.

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(None, "flip_left_right", [image]):
        return flipped(to_image(image), COLUMNS)


@takes_targets
def flip_up_down(image: TensorLike) -> Move:
    """Flips an image, or each image in a batch, vertically.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).

    Returns:
        The flipped image.

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(None, "flip_up_down", [image]):
        return flipped(to_image(image), ROWS)


def flipped(image: Tensor, axis: int, draws: Tensor | None = None) -> Move:
    """Flips an image or a batch, either always or with a probability of 1/2.

    Args:
        image: An image, or a batch of images.
        axis: The axis to reverse: `ROWS` or `COLUMNS`.
        draws: Random numbers in [0, 1), float32; None to flip always. For an image, a scalar: the
            image is flipped if the number is below 1/2. For a batch, a vector: an image is flipped
            if its number is above 1/2.
    """
    if draws is None:
        return Move(
            image,
            _flip(image, axis, []),
            homography=lambda size, _: _mirror(size, axis, -1.0, 1.0),
            masks=lambda masks, _: _flip(masks, axis, []),
            has_whole_pixels=True,
        )

    def homography(size: Tensor, _: Tensor) -> Tensor:
        is_flipped = less(draws, 0.5)
        return _mirror(size, axis, where(is_flipped, -1.0, 1.0), where(is_flipped, 1.0, 0.0))

    def masks(masks: Tensor, _: Tensor) -> Tensor:
        each = fill(shape_of(masks)[:1], where(less(draws, 0.5), 1.0, 0.0))
        return _flip(masks, axis, [Input("draws", each, dtypes.float32)])

    return Move(
        image,
        _flip(image, axis, [Input("draws", draws, dtypes.float32)]),
        homography=homography,
        masks=masks,
        has_whole_pixels=True,
    )


def _mirror(size: Tensor, axis: int, sign: TensorLike, share: TensorLike) -> Tensor:
    """Returns the map that multiplies positions along an axis and adds a share of the size."""
    added = cast(size[axis], dtypes.float32) * share
    if axis == COLUMNS:
        return affine_map(sign, 0.0, added, 0.0, 1.0, 0.0)
    return affine_map(1.0, 0.0, 0.0, 0.0, sign, added)


def _flip(image: Tensor, axis: int, draws: list[Input]) -> Tensor:
    def infer(image: Tensor, *_: Tensor) -> Outputs:
        return like(image)

    inputs = [Input("image", image), *draws]
    return apply_op("FlipImage", inputs, infer, attrs={"axis": axis}).outputs[0]


@takes_targets
def transpose_image(image: TensorLike, name: str | None = None) -> Move:
    """Transposes an image, or each image in a batch: rows become columns.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        name: Name of the scope.

    Returns:
        (width, height, channels), or a batch of such images.

    Raises:
        ValueError: If the image has the wrong rank.
    """
    with name_scope(name, "transpose_image", [image]):
        pixels = to_image(image)
        return Move(
            pixels,
            _transpose(pixels),
            homography=lambda *_: affine_map(0.0, 1.0, 0.0, 1.0, 0.0, 0.0),
            masks=lambda masks, _: _transpose(masks),
            has_whole_pixels=True,
        )


def _transpose(image: Tensor) -> Tensor:
    op = apply_op(
        "TransposeImage",
        [Input("image", image)],
        lambda image: [(image.dtype.base_dtype, _transposed(image))],
    )
    return op.outputs[0]


@takes_targets
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Move:
    """Rotates an image, or each image in a batch, counter-clockwise in steps of 90 degrees.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        k: The number of steps, an integer or a scalar integer tensor.
        name: Name of the scope.

    Returns:
        The rotated image.

    Raises:
        ValueError: If the image has the wrong rank, or `k` is not a scalar.
    """
    with name_scope(name, "rot90", [image, k]):
        pixels = to_image(image)
        return Move(
            pixels,
            _rotate(pixels, k),
            homography=lambda size, _: _turn(size, k),
            masks=lambda masks, _: _rotate(masks, k),
            has_whole_pixels=True,
        )


def _rotate(image: Tensor, k: TensorLike) -> Tensor:
    def infer(image: Tensor, quarters: Tensor) -> Outputs:
        check_rank(quarters.shape, 0)
        # As in TensorFlow, the static shape does not depend on k, even if k is known.
        is_square = len(set(known_sizes(image))) == 1
        shape = image.shape if is_square else resized_shape(image, None, None)
        return [(image.dtype.base_dtype, shape)]

    inputs = [Input("image", image), Input("k", k, dtypes.int32)]
    return apply_op("RotateImage", inputs, infer).outputs[0]


# For 0 to 3 quarter turns: the map of positions in an image of no size, and the numbers to add for
# each row and each column of the image.
_TURNS: Final = np.array(
    [[1, 0, 0, 0, 1, 0], [0, 1, 0, -1, 0, 0], [-1, 0, 0, 0, -1, 0], [0, -1, 0, 1, 0, 0]], np.float64
)
_ADDED_PER_ROW: Final = np.array(
    [[0] * 6, [0] * 6, [0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]], np.float64
)
_ADDED_PER_COLUMN: Final = np.array(
    [[0] * 6, [0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0], [0] * 6], np.float64
)


def _turn(size: Tensor, k: TensorLike) -> Tensor:
    quarters = floormod(convert_to_tensor(k, dtypes.int32), 4)
    height, width = cast(size[0], dtypes.float64), cast(size[1], dtypes.float64)
    added = gather(_ADDED_PER_ROW, quarters) * height + gather(_ADDED_PER_COLUMN, quarters) * width
    return gather(_TURNS, quarters) + added


def _transposed(image: Tensor) -> TensorShape:
    if image.shape.rank is None:
        return unknown_shape()
    sizes = image.shape.as_list()
    sizes[-3], sizes[-2] = sizes[-2], sizes[-3]
    return TensorShape(sizes)


define("FlipImage", is_own=True)
define("RotateImage", is_own=True)
define("TransposeImage", is_own=True)
