"""Places images at random positions on larger canvases.

Source: `torchvision.transforms.v2.RandomZoomOut`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.join import stack
from headrace.ops.array.pad import pad
from headrace.ops.array.where import where
from headrace.ops.augment.arguments import (
    PIXELS,
    check_fill,
    one_image,
    probability,
    range_of,
    values_of,
)
from headrace.ops.augment.targets import Move, image_size, takes_targets
from headrace.ops.image.crop import shifted
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import less
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_zoom_out"]


@takes_targets
def random_zoom_out(
    image: TensorLike,
    fill: float = 0.0,
    side_range: Sequence[float] = (1.0, 4.0),
    p: float = 0.5,
    seed: int | None = None,
) -> Move:
    """Places an image at a random position on a larger canvas, with a given probability.

    After a resize, objects are then smaller. Masks are 0 around the image.

    Args:
        image: uint8, uint16 or float32, (height, width, channels). The shape may be unknown.
        fill: The value of pixels around the image, from 0 to 255 for uint8 and to 65,535 for
            uint16.
        side_range: The minimum and maximum size of the canvas, as multiples of the image's size, at
            least 1.
        p: The probability that the image is placed on a canvas, from 0 to 1. Otherwise, the image
            is unchanged.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        An image of the same type, (new height, new width, channels).

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image has the wrong type.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomZoomOut`, introduced in "SSD: Single Shot MultiBox
    Detector" (arXiv:1512.02325).
    """
    what = "random_zoom_out"
    low, high = range_of(what, "side_range", side_range, lambda side: side >= 1, "numbers from 1")
    limit = probability(what, p)
    [value] = values_of(what, "fill", fill)
    with name_scope(None, what, [image]):
        pixels = one_image(what, image, PIXELS)
        check_fill(what, pixels, "fill", [value])
        draws = random_uniform([4], seed=seed)
        side = where(less(draws[0], limit), draws[1] * (high - low) + low, 1.0)
        return _zoomed_out(pixels, side, draws[2:], value)


def _zoomed_out(image: Tensor, side: TensorLike, draws: TensorLike, fill: float) -> Move:
    """Places an image on a canvas of `side` times its size.

    Args:
        image: The image.
        side: A number, float32.
        draws: The position of the upper and the left margin in the free space, float32 in [0, 1).
        fill: The value around the image.
    """
    size = image_size(image)
    canvas = cast(cast(size, dtypes.float64) * cast(side, dtypes.float64), dtypes.int32)
    free = canvas - size
    start = cast(cast(free, dtypes.float64) * cast(draws, dtypes.float64), dtypes.int32)
    rest = free - start
    margins = stack([stack([start[0], rest[0]]), stack([start[1], rest[1]]), [0, 0]])

    def padded(images: Tensor, margins: Tensor, value: float) -> Tensor:
        return pad(images, margins, constant_values=cast(value, images.dtype.base_dtype))

    moved = padded(image, margins, fill)
    channels = image.shape.as_list()[2] if image.shape.rank == 3 else None
    moved.set_shape(TensorShape([None, None, channels]))
    return Move(
        image,
        moved,
        homography=lambda *_: shifted(start[1], start[0]),
        masks=lambda masks, _: padded(masks, _with_images(margins), 0.0),
    )


def _with_images(margins: Tensor) -> Tensor:
    """Returns the margins for several images: none along the first axis."""
    return stack([[0, 0], margins[0], margins[1], margins[2]])
