"""Erases random rectangles.

Source: `torchvision.transforms.v2.RandomErasing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import (
    PIXELS,
    check_fill,
    known_image,
    layout_axes,
    one_image,
    probability,
    range_of,
    same_image,
    values_of,
)
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.image.frames import require
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_erasing"]


def random_erasing(
    image: TensorLike,
    p: float = 0.5,
    scale: Sequence[float] = (0.02, 0.33),
    ratio: Sequence[float] = (0.3, 3.3),
    value: float | Sequence[float] | str = 0,
    layout: str = "HWC",
    seed: int | None = None,
) -> Tensor:
    """Fills a random rectangle of an image with a value or with noise, with a given probability.

    Ten sizes are drawn, with areas and logarithms of aspect ratios evenly distributed. The first
    size with both sides smaller than the image is used. If there is none, the image does not
    change. For the same rectangle, the pixels are the same as in torchvision.

    Args:
        image: uint8, uint16 or float32, (height, width, channels), or (channels, height, width)
            for the layout "CHW", with at most 4 channels. The shape may be unknown.
        p: The probability, from 0 to 1.
        scale: The minimum and maximum area, as a fraction of the image.
        ratio: The minimum and maximum aspect ratio, as height divided by width.
        value: The value to fill in, or one value per channel. For uint8, values are integers from 0
            to 255, and for uint16, from 0 to 65,535. "random" fills in noise from the standard
            normal distribution. Noise requires float32, so apply it after `normalize`.
        layout: "HWC", or "CHW" for the result of `normalize`.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        An image of the same type and shape.

    Raises:
        InvalidArgumentError: When run, if the image has the wrong shape.
        TypeError: If the image has the wrong type, or `value` is "random" and the image contains
            integers.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomErasing`.
    """
    what = "random_erasing"
    is_noise = isinstance(value, str) and value == "random"
    is_part, is_positive = (lambda part: 0 <= part <= 1), (lambda number: number > 0)
    values = [] if is_noise else values_of(what, "value", value)
    axes = layout_axes(what, layout)
    attrs = {
        "p": probability(what, p),
        "scale": list(range_of(what, "scale", scale, is_part, "numbers from 0 to 1")),
        "ratio": list(range_of(what, "ratio", ratio, is_positive, "positive numbers")),
        "value": values,
        "axes": list(axes),
    }
    with name_scope(None, what, [image]):
        pixels = one_image(what, image, PIXELS)
        dtype = pixels.dtype.base_dtype
        if is_noise and not dtype.is_floating:
            raise TypeError(
                f"{what}: value='random' fills with normally distributed noise, which "
                f"requires a float32 image. Call {what} after normalize(...), or pass a "
                "number."
            )
        check_fill(what, pixels, "value", values)
        require(
            dtype.is_floating or all(item == int(item) for item in values),
            f"{what}: value is {value!r}, expected whole numbers for {dtype.name}.",
        )
        depth = known_image(pixels).as_list()[axes[2]]
        require(
            depth is None or 1 <= depth <= _MOST_CHANNELS,
            f"{what}: the image has {depth} channels in the layout {layout!r}, expected at most "
            f"{_MOST_CHANNELS}.",
        )
        num_draws = _NUM_DRAWS + _NUM_NOISE_DRAWS * is_noise
        return _erased(pixels, random_uniform([num_draws], seed=seed), attrs)


def _erased(image: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Tensor:
    """Erases a rectangle selected by float32 random numbers in [0, 1).

    The numbers select whether to erase, ten areas and aspect ratios, the row, the column and (two
    of them) the noise.
    """
    inputs = [Input("image", image), Input("draws", draws, dtypes.float32)]
    return apply_op("RandomErasing", inputs, same_image, attrs=attrs).outputs[0]


_MOST_CHANNELS: Final = 4
_NUM_DRAWS: Final = 23
_NUM_NOISE_DRAWS: Final = 2

define("RandomErasing", is_own=True)
