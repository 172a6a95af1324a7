"""Image operations, with the names from TensorFlow 1, where resize methods are numbers.

Source: `tf.image.resize_images` and similar functions in TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph import SupportsTensor, Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "ResizeMethod",
    "crop_and_resize",
    "decode_image",
    "draw_bounding_boxes",
    "extract_image_patches",
    "extract_patches",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """The method that `resize_images` uses to compute pixels."""

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
    """Returns the name of a resize method. The operation rejects unknown numbers."""
    return cast("str", _NAMES.get(method, method))


def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.resize_images`; `method` can be a number from `ResizeMethod`."""
    kind = _name_of(method)
    return ops.resize_images(images, size, kind, align_corners, preserve_aspect_ratio, name)


def resize_image_with_pad(
    image: TensorLike,
    target_height: _Size,
    target_width: _Size,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Calls `ops.resize_image_with_pad`; `method` can be a number from `ResizeMethod`."""
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
    return ops.decode_image(contents, channels, dtype, expand_animations, name=name)


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


def draw_bounding_boxes(
    images: TensorLike,
    boxes: TensorLike,
    name: str | None = None,
    colors: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.draw_bounding_boxes` with the arguments in their old order."""
    return ops.draw_bounding_boxes(images, boxes, colors, name)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.crop_and_resize`; `box_ind` and `box_indices` are names for the same argument.

    Raises:
        ValueError: If the image indices are passed twice, or the indices or the size are missing.
    """
    numbers = only_one("box_indices", box_indices, "box_ind", box_ind)
    for parameter, value in (("box_ind", numbers), ("crop_size", crop_size)):
        if value is None:
            raise ValueError(f"crop_and_resize: '{parameter}' is None, but it is required.")
    return ops.crop_and_resize(
        image, boxes, numbers, cast(TensorLike, crop_size), method, extrapolation_value, name
    )


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Calls `ops.extract_image_patches`. Also accepts `sizes`, the newer name of `ksizes`.

    Raises:
        TypeError: If an argument is not a list of integers.
        ValueError: If both names are given, a list has the wrong form, or the padding does not
            exist.
    """
    window: Any = only_one("sizes", sizes, "ksizes", ksizes)
    steps: Any = strides
    gaps: Any = rates
    mode: Any = padding
    return ops.extract_image_patches(images, window, steps, gaps, mode, name)


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.extract_image_patches`, which calls `sizes` `ksizes`."""
    return ops.extract_image_patches(images, sizes, strides, rates, padding, name)
