"""Random image augmentation for training.

Each operation draws its own numbers, as in `headrace.ops.random.numbers`. With a seed, the numbers
are the same in every session, and the same as in TensorFlow.

Source: `tf.image.random_flip_left_right` and similar functions, and `tf.random_crop`, of TensorFlow
1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.augment.targets import Move, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.image.colour import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
)
from headrace.ops.image.crop import cropped_at
from headrace.ops.image.flip import COLUMNS, ROWS, flipped
from headrace.ops.image.frames import require, to_image
from headrace.ops.math.arithmetic import floormod
from headrace.ops.random.numbers import random_uniform

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
]


@takes_targets
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Move:
    """Flips an image, or each image in a batch, horizontally with a probability of one half.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        The image, flipped or unchanged.

    Raises:
        ValueError: If the image has the wrong rank, or its rank is unknown.
    """
    return _flip_at_random("random_flip_left_right", image, COLUMNS, seed)


@takes_targets
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Move:
    """Flips an image, or each image in a batch, vertically with a probability of one half.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        The image, flipped or unchanged.

    Raises:
        ValueError: If the image has the wrong rank, or its rank is unknown.
    """
    return _flip_at_random("random_flip_up_down", image, ROWS, seed)


def _flip_at_random(scope: str, image: TensorLike, axis: int, seed: int | None) -> Move:
    with name_scope(None, scope, [image]):
        pixels = to_image(image)
        # A tensor of unknown rank is treated as one image, because decoders return one image.
        is_batch = pixels.shape.rank == 4
        shape: Any = shape_of(pixels)[:1] if is_batch else []
        return flipped(pixels, axis, random_uniform(shape, 0, 1.0, seed=seed))


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Changes the brightness by a random number; see `adjust_brightness`.

    Args:
        image: Floats or integers of any shape.
        max_delta: The number is drawn from `-max_delta` to `max_delta`, for channels from 0 to 1.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Raises:
        ValueError: If `max_delta` is negative.
    """
    require(max_delta >= 0, "max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Changes the contrast by a random factor; see `adjust_contrast`.

    Args:
        image: Floats or integers, (..., height, width, channels).
        lower: The smallest factor, at least 0.
        upper: The end of the range, which is excluded.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Raises:
        ValueError: If the range is invalid.
    """
    return adjust_contrast(image, _factor(lower, upper, seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Multiplies the saturation by a random factor; see `adjust_saturation`.

    Args:
        image: RGB, floats or integers, (..., 3).
        lower: The smallest factor, at least 0.
        upper: The end of the range, which is excluded.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Raises:
        ValueError: If the range is invalid, or the image does not have 3 channels.
    """
    return adjust_saturation(image, _factor(lower, upper, seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Rotates the hue by a random angle; see `adjust_hue`.

    Args:
        image: RGB, floats or integers, (..., 3).
        max_delta: The angle is drawn from `-max_delta` to `max_delta`, in turns. It must be from 0
            to 0.5.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Raises:
        ValueError: If `max_delta` is out of range, or the image does not have 3 channels.
    """
    require(max_delta <= 0.5, "max_delta must be <= 0.5.")
    require(max_delta >= 0, "max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


@takes_targets
def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Move:
    """Crops a tensor of any rank to a window at a random position.

    Args:
        value: A tensor of any type and shape.
        size: The shape of the window, an int32 vector.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        name: Name of the operation.

    Returns:
        The window.

    Raises:
        InvalidArgumentError: At run time, if `value` is smaller than the window.
        ValueError: If `size` does not have one element per axis.

    Examples:
        >>> crop = hr.native(lambda one: {"image": hr.ops.random_crop(one["image"], [4, 4, 3])})
        >>> pipe = hr.arrays({"image": np.zeros((2, 8, 8, 3), np.uint8)}).map(crop, seed=7)
        >>> next(iter(pipe.batch(2)))["image"].shape
        (2, 4, 4, 3)
    """

    def infer(value: Tensor, draws: Tensor, size: Tensor) -> Outputs:
        window = constant_value_as_shape(size)
        ranks = (value.shape.rank, window.rank)
        if None not in ranks and ranks[0] != ranks[1]:
            raise ShapeConflict(f"Shape must be rank {ranks[1]} but is rank {ranks[0]}")
        return [(value.dtype.base_dtype, window)]

    with name_scope(name, "random_crop", [value, size]):
        image = convert_to_tensor(value, name="value")
        window = convert_to_tensor(size, dtypes.int32, name="size")
        draws = random_uniform(shape_of(window), 0, dtypes.int32.max, dtypes.int32, seed)
        inputs = [
            Input("value", image),
            Input("draws", draws, dtypes.int32),
            Input("size", window, dtypes.int32),
        ]
        cropped = apply_op("RandomCrop", inputs, infer).outputs[0]

        def start() -> Tensor:
            return floormod(draws, shape_of(image) - window + 1)

        return cropped_at(image, cropped, start, window)


def _factor(lower: float, upper: float, seed: int | None) -> Tensor:
    require(upper > lower, "upper must be > lower.")
    require(lower >= 0, "lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)


define("RandomCrop", is_own=True)
