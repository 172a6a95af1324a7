"""Resizing under the names of TensorFlow 1: methods are numbers.

Source: `tf.image.resize_images` of TensorFlow 1.15.
"""

from typing import Any, Final, TypeAlias, cast

import numpy as np

from headrace import dtypes, ops
from headrace.dtypes import DTypeLike
from headrace.graph import SupportsTensor, Tensor, TensorLike

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


# A height or a width.
_Size: TypeAlias = int | np.integer[Any] | Tensor | SupportsTensor

_NAMES: Final[dict[int | str, str]] = {
    ResizeMethod.BILINEAR: ops.ResizeMethod.BILINEAR,
    ResizeMethod.NEAREST_NEIGHBOR: ops.ResizeMethod.NEAREST_NEIGHBOR,
    ResizeMethod.BICUBIC: ops.ResizeMethod.BICUBIC,
    ResizeMethod.AREA: ops.ResizeMethod.AREA,
}


def _name_of(method: int | str) -> str:
    """Returns the name of a method; the operation refuses a number that is none."""
    return cast("str", _NAMES.get(method, method))


def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.resize_images`; `method` may be a number of `ResizeMethod`."""
    kind = _name_of(method)
    return ops.resize_images(images, size, kind, align_corners, preserve_aspect_ratio, name)


def resize_image_with_pad(
    image: TensorLike,
    target_height: _Size,
    target_width: _Size,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Calls `ops.resize_image_with_pad`; `method` may be a number of `ResizeMethod`."""
    kind = _name_of(method)
    return ops.resize_image_with_pad(image, target_height, target_width, kind, align_corners)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Calls `ops.decode_image` with the arguments in their old order."""
    return ops.decode_image(contents, channels, dtype, expand_animations, name)


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_bilinear` with the arguments in their old order."""
    return ops.resize_bilinear(images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_bicubic` with the arguments in their old order."""
    return ops.resize_bicubic(images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Calls `ops.resize_nearest_neighbor` with the arguments in their old order."""
    return ops.resize_nearest_neighbor(images, size, align_corners, half_pixel_centers, name)
