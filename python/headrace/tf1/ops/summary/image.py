"""Image summaries, as PNG files with a tag.

Source: `tf.summary.image` in TensorFlow 1.15.
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
    """Creates a summary of images, as PNG files.

    uint8 images are not scaled. Float images are scaled separately. If an image has no negative
    values, its largest value becomes 255. Otherwise, 0 becomes 128, and the value furthest from 0
    becomes 1 or 255. Pixels with a channel that is not finite become red.

    Args:
        name: See `scalar`. The tags of the images are `name/image/0`, `name/image/1` and so on, or
            `name/image` if `max_outputs` is 1.
        tensor: uint8 or floats, (batch, height, width, channels). 1 channel is grey, 3 channels are
            RGB, and 4 are RGBA.
        max_outputs: The maximum number of images, from the start of the batch.
        collections: See `scalar`.
        family: See `scalar`.

    Returns:
        See `scalar`.

    Raises:
        InvalidArgumentError: At run time, if `tensor` has the wrong shape.
        TypeError: If `tensor` has the wrong type.
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
