"""Windows in the middle of images.

Source: `torchvision.transforms.v2.CenterCrop`.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.augment.arguments import Pair, size_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.image.frames import resized_shape, to_image

__all__ = ["center_crop"]


def center_crop(image: TensorLike, size: Pair, name: str | None = None) -> Tensor:
    """Crops the middle of an image, or of each image of a batch.

    Where the image is smaller than `size`, zeros are added around it, one more below and right if
    their number is odd. Half a pixel of offset is rounded to an even number. The pixels are
    torchvision's.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        size: Height and width of the result; one integer for both.
        name: Name of the operation.

    Returns:
        The type of `image`, (height, width, channels), or a batch of them.

    Raises:
        ValueError: If `size` is not positive, or the image has another rank.

    Source: `torchvision.transforms.v2.CenterCrop`.
    """
    height, width = size_of("center_crop", "size", size)
    pixels = to_image(image)

    def infer(image: Tensor) -> Outputs:
        return [(image.dtype.base_dtype, resized_shape(image, height, width))]

    attrs = {"size": [height, width]}
    return apply_op("CenterCrop", [Input("image", pixels)], infer, name=name, attrs=attrs).outputs[
        0
    ]


define("CenterCrop", is_own=True)
