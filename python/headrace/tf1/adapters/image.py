"""Resizing under the names of TensorFlow 1: methods are numbers.

Source: `tf.image.resize_images` of TensorFlow 1.15.
"""

from typing import Any, Final

from headrace import dtypes, ops
from headrace.graph import Tensor

__all__ = [
    "ResizeMethod",
    "decode_image",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """How `resize_images` computes a pixel."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_NAMES: Final[dict[Any, str]] = {
    ResizeMethod.BILINEAR: ops.ResizeMethod.BILINEAR,
    ResizeMethod.NEAREST_NEIGHBOR: ops.ResizeMethod.NEAREST_NEIGHBOR,
    ResizeMethod.BICUBIC: ops.ResizeMethod.BICUBIC,
    ResizeMethod.AREA: ops.ResizeMethod.AREA,
}


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.resize_images`; `method` may be a number of `ResizeMethod`."""
    way = _NAMES.get(method, method)
    return ops.resize_images(images, size, way, align_corners, preserve_aspect_ratio, name)


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Calls `ops.resize_image_with_pad`; `method` may be a number of `ResizeMethod`."""
    way = _NAMES.get(method, method)
    return ops.resize_image_with_pad(image, target_height, target_width, way, align_corners)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Calls `ops.decode_image` with the arguments in their old order."""
    return ops.decode_image(contents, channels, dtype, expand_animations, name)


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_bilinear` with the arguments in their old order."""
    return ops.resize_bilinear(images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_bicubic` with the arguments in their old order."""
    return ops.resize_bicubic(images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_nearest_neighbor` with the arguments in their old order."""
    return ops.resize_nearest_neighbor(images, size, align_corners, half_pixel_centers, name)
