"""Image summaries, as PNG files with a tag.

Source: `tf.summary.image` of TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input
from headrace.tf1.ops.summary.tag import summarize

__all__ = ["image"]


_PIXELS: Final = (dtypes.uint8, dtypes.float32, dtypes.float16, dtypes.float64)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Makes a summary of images, as PNG files.

    Bytes are shown as they are. Floats are scaled, in each image alone: from 0 to 255, so that its
    largest value is 255; with negative values so that 0 is 128 and the value furthest from it 1 or
    255. A pixel with a channel that is not finite is red.

    Args:
        name: As for `scalar`. The images' tags are `name/image/0`, `name/image/1` and so on; with
            `max_outputs=1` the one is `name/image`.
        tensor: uint8 or floats, (batch, height, width, channels): 1 channel for grey, 3 for RGB,
            4 with alpha.
        max_outputs: The most images to take, the first of the batch.
        collections: As for `scalar`.
        family: As for `scalar`.

    Returns:
        As `scalar`.

    Raises:
        InvalidArgumentError: When run: `tensor` is of another shape.
        TypeError: If it is of another type.
        ValueError: If `max_outputs` is less than 1.
    """
    if max_outputs < 1:
        raise ValueError(
            f"Attr 'max_images' of 'ImageSummary' Op passed {max_outputs} less than minimum 1."
        )
    try:
        attrs = {"max_images": int(max_outputs)}
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'max_images' not {max_outputs!r}.") from None
    pixels = Input("tensor", tensor, allowed=_PIXELS, default=dtypes.float32)
    return summarize("ImageSummary", "tag", name, pixels, collections, family, attrs)


define("ImageSummary")
