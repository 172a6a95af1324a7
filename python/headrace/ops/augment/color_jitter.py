"""Random changes of brightness, contrast, saturation and hue.

Source: `torchvision.transforms.v2.ColorJitter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import GREY_OR_RGB, is_real, one_image, range_of, same_image
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.math.arithmetic import add, multiply
from headrace.ops.random.numbers import random_uniform

__all__ = ["color_jitter"]


def color_jitter(
    image: TensorLike,
    brightness: float | Sequence[float] = 0,
    contrast: float | Sequence[float] = 0,
    saturation: float | Sequence[float] = 0,
    hue: float | Sequence[float] = 0,
    seed: int | None = None,
) -> Tensor:
    """Changes brightness, contrast, saturation and hue by random amounts, in a random order.

    The brightness factor multiplies the pixels. The contrast factor scales the difference between
    each pixel and the mean grey of the image. The saturation factor scales the difference between
    each pixel and its own grey. A factor of 1 changes nothing. The hue is rotated by a fraction of
    a turn. Grey is 0.2989 R + 0.587 G + 0.114 B. Each step rounds down. For the same amounts and
    order, pixels differ from torchvision's results for tensors by at most 1 after each step.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255. The shape may be unknown.
        brightness: The factor is drawn from `1 - brightness` (at least 0) to `1 + brightness`. You
            can also pass the minimum and maximum factor as a pair.
        contrast: The range of the contrast factor, as for `brightness`.
        saturation: The range of the saturation factor, as for `brightness`. Grey images do not
            change.
        hue: The rotation is drawn from `-hue` to `hue`, at most 0.5. You can also pass the minimum
            and maximum as a pair.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        uint8, with the shape of `image`.

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image is not uint8.
        ValueError: If a range is invalid, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.ColorJitter`.
    """
    ranges = [
        _factors("brightness", brightness),
        _factors("contrast", contrast),
        _factors("saturation", saturation),
        _turns(hue),
    ]
    with name_scope(None, "color_jitter", [image]):
        pixels = one_image("color_jitter", image, channels=GREY_OR_RGB)
        widths = [high - low for low, high in ranges]
        draws = random_uniform([8], seed=seed)
        factors = add(multiply(draws[:4], widths), [low for low, _ in ranges])
        return _jittered(pixels, factors, draws[4:])


def _jittered(image: Tensor, factors: TensorLike, keys: TensorLike) -> Tensor:
    """Changes an image by four float32 amounts, in the order of four float32 sort keys."""
    inputs = [
        Input("image", image),
        Input("factors", factors, dtypes.float32),
        Input("keys", keys, dtypes.float32),
    ]
    return apply_op("ColorJitter", inputs, same_image).outputs[0]


def _factors(name: str, value: float | Sequence[float]) -> tuple[float, float]:
    pair = value
    if is_real(value):
        if not value >= 0:
            raise ValueError(f"color_jitter: {name} is {value!r}, expected a number of at least 0.")
        pair = (max(0.0, 1 - value), 1 + value)
    return range_of("color_jitter", name, pair, lambda factor: factor >= 0, "numbers of at least 0")


def _turns(value: float | Sequence[float]) -> tuple[float, float]:
    pair = (-abs(value), abs(value)) if is_real(value) else value
    expected = "numbers from -0.5 to 0.5"
    return range_of("color_jitter", "hue", pair, lambda turn: abs(turn) <= 0.5, expected)


define("ColorJitter", is_own=True)
