"""Crops the centre of images.

Source: `torchvision.transforms.v2.CenterCrop`.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.array.where import where
from headrace.ops.augment.arguments import Pair, size_of
from headrace.ops.augment.targets import Move, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.image.crop import shifted
from headrace.ops.image.frames import resized_shape, to_image
from headrace.ops.math.arithmetic import floor, rint
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import less

__all__ = ["center_crop"]


@takes_targets
def center_crop(image: TensorLike, size: Pair, name: str | None = None) -> Move:
    """Crops the centre of an image, or of each image in a batch.

    If the image is smaller than `size`, zeros are added around it. If the number of zeros along an
    axis is odd, the extra zero is added below or to the right. If the offset of the crop is half a
    pixel, it is rounded to an even number. The pixels are the same as in torchvision.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        size: The height and width of the result, or one integer for both.
        name: Name of the operation.

    Returns:
        An image of the same type, (height, width, channels), or a batch of such images.

    Raises:
        ValueError: If `size` is not positive, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.CenterCrop`.
    """
    height, width = size_of("center_crop", "size", size)
    pixels = to_image(image)
    moved = _crop(pixels, height, width, name)

    def homography(before: Tensor, after: Tensor) -> Tensor:
        removed = cast(before - after, dtypes.float64) / 2.0
        # Half positions are rounded like the kernel does: to even numbers, or down if zeros are
        # added.
        start = where(less(removed, 0.0), -floor(-removed), rint(removed))
        return shifted(-start[1], -start[0])

    return Move(pixels, moved, homography, masks=lambda masks, _: _crop(masks, height, width, None))


def _crop(pixels: Tensor, height: int, width: int, name: str | None) -> Tensor:
    def infer(image: Tensor) -> Outputs:
        return [(image.dtype.base_dtype, resized_shape(image, height, width))]

    attrs = {"size": [height, width]}
    return apply_op("CenterCrop", [Input("image", pixels)], infer, name=name, attrs=attrs).outputs[
        0
    ]


define("CenterCrop", is_own=True)
