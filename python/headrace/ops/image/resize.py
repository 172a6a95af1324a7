"""Resizing images.

`resize_images` returns the same results as TensorFlow 1: pixels are points, and the first pixels of
both images coincide. `resize` returns the same results as TensorFlow 2: pixels are small squares,
and with `antialias`, each pixel of the result depends on all pixels that it covers.

Source: `tf.image.resize_images` and `tf.compat.v2.image.resize` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, dimension_value
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.join import concat
from headrace.ops.array.placeholder import identity
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.augment.targets import Move, affine_map, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.elementwise import REALS
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array
from headrace.ops.image.crop import pad_to_bounding_box
from headrace.ops.image.frames import Size, is_number, known_sizes, require, resized_shape, to_image
from headrace.ops.math.arithmetic import rint
from headrace.ops.math.cast import cast
from headrace.ops.math.saturate_cast import saturate_cast

__all__ = [
    "ResizeMethod",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_pad",
]


class ResizeMethod:
    """A method for computing the pixels of a resized image."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


class _ResizeOp(NamedTuple):
    """An operation that resizes, with the attributes that choose its method."""

    op_type: str
    attrs: dict[str, Any]


_OP_TYPES: Final[dict[str, str]] = {
    ResizeMethod.BILINEAR: "ResizeBilinear",
    ResizeMethod.NEAREST_NEIGHBOR: "ResizeNearestNeighbor",
    ResizeMethod.BICUBIC: "ResizeBicubic",
    ResizeMethod.AREA: "ResizeArea",
}
_KERNELS: Final[dict[str, str]] = {
    ResizeMethod.LANCZOS3: "lanczos3",
    ResizeMethod.LANCZOS5: "lanczos5",
    ResizeMethod.GAUSSIAN: "gaussian",
    ResizeMethod.MITCHELLCUBIC: "mitchellcubic",
}
_ANTIALIASED: Final[dict[str, str]] = {
    ResizeMethod.BILINEAR: "triangle",
    ResizeMethod.BICUBIC: "keyscubic",
    **_KERNELS,
}


@takes_targets
def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Move:
    """Resizes an image, or each image in a batch, in the same way as TensorFlow 1.

    Args:
        images: Numbers, (height, width, channels) or (batch, height, width, channels).
        size: int32, the new height and width.
        method: BILINEAR, NEAREST_NEIGHBOR, BICUBIC or AREA of `ResizeMethod`.
        align_corners: If True, the centres of all corner pixels of both images are aligned. If
            False, only the centres of the top left pixels are aligned.
        preserve_aspect_ratio: If True, the image keeps its proportions, and `size` is only a limit.
        name: Name of the scope.

    Returns:
        float32, in the range of the input. NEAREST_NEIGHBOR keeps the type of the input. If the
        images are known to have `size` already and `preserve_aspect_ratio` is False, they are
        returned unchanged.

    Raises:
        InvalidArgumentError: At run time, if a size is not positive.
        ValueError: If `images` has the wrong rank, `size` is not a pair of integers, or the method
            does not exist.
    """
    way = _way_of_tf1(method, align_corners)
    is_skipped_if_same = not preserve_aspect_ratio
    moved = _resize(images, size, way, preserve_aspect_ratio, name, is_skipped_if_same)
    return _resize_move(images, moved, way, lambda: moved)


@takes_targets
def resize(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool | None = None,
    name: str | None = None,
) -> Move:
    """Resizes an image, or each image in a batch, in the same way as TensorFlow 2.

    Args:
        images: Numbers, (height, width, channels) or (batch, height, width, channels).
        size: int32, the new height and width.
        method: A `ResizeMethod`.
        preserve_aspect_ratio: If True, the image keeps its proportions, and `size` is only a limit.
        antialias: If True, a smaller image is filtered to avoid aliasing. This has no effect on
            NEAREST_NEIGHBOR, which never filters, or on AREA, which always does. By default, an
            image is filtered only if targets are passed, as in torchvision.
        name: Name of the scope.

    Returns:
        float32, in the range of the input. NEAREST_NEIGHBOR keeps the type of the input. If targets
        are passed, uint8 and uint16 images keep their type, and values are rounded.

    Raises:
        ValueError: If `images` has the wrong rank, `size` is not a pair of integers, or the method
            does not exist.

    Examples:
        >>> shrink = hr.native(lambda one: {"image": hr.ops.resize(one["image"], [2, 3])})
        >>> shrink({"image": np.zeros((4, 6, 3), np.uint8)})["image"].shape
        (2, 3, 3)
    """

    def resized(antialias: bool) -> Tensor:
        way = _way_of_tf2(method, antialias)
        return _resize(images, size, way, preserve_aspect_ratio, name, is_skipped_if_same=False)

    moved = resized(bool(antialias))
    way = _way_of_tf2(method, bool(antialias))
    return _resize_move(images, moved, way, lambda: resized(True) if antialias is None else moved)


def _resize_move(
    images: TensorLike, moved: Tensor, way: _ResizeOp, with_targets: Callable[[], Tensor]
) -> Move:
    """Returns the move of images that were resized.

    Args:
        images: The images before.
        moved: The resized images.
        way: How they were resized.
        with_targets: Returns the result if there are targets. It is then rounded, if the images
            are uint8.
    """
    pixels = convert_to_tensor(images, name="images")

    def homography(before: Tensor, after: Tensor) -> Tensor:
        scale = cast(after, dtypes.float64) / cast(before, dtypes.float64)
        return affine_map(scale[1], 0.0, 0.0, 0.0, scale[0], 0.0)

    def rounded() -> Tensor:
        return _rounded(with_targets(), pixels)

    return Move(pixels, moved, homography, resize_masks, with_targets=rounded)


def resize_masks(masks: Tensor, size: TensorLike) -> Tensor:
    """Resizes masks (masks, height, width, 1) as torchvision does: pixel x is pixel floor(x s).

    Source: `torch.nn.functional.interpolate` with the mode "nearest".
    """
    return resize_nearest_neighbor(masks, size)


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes a batch of images with the BILINEAR method; see `resize_images`.

    Args:
        images: Numbers, (batch, height, width, channels).
        size: int32, the new height and width.
        align_corners: If True, the centres of the corner pixels of both images are aligned.
        half_pixel_centers: If True, the edges of both images are aligned, as in TensorFlow 2.
        name: Name of the operation.

    Returns:
        float32, (batch, new height, new width, channels).

    Raises:
        ValueError: If a shape is wrong.
    """
    return _resize_batch("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes a batch of images with the NEAREST_NEIGHBOR method; see `resize_images`.

    Args:
        images: Numbers, (batch, height, width, channels).
        size: int32, the new height and width.
        align_corners: If True, the centres of the corner pixels of both images are aligned.
        half_pixel_centers: If True, the edges of both images are aligned, as in TensorFlow 2.
        name: Name of the operation.

    Returns:
        Images of the same type, (batch, new height, new width, channels).

    Raises:
        ValueError: If a shape is wrong.
    """
    op_type = "ResizeNearestNeighbor"
    return _resize_batch(op_type, images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes a batch of images with the BICUBIC method; see `resize_images`.

    Args:
        images: Numbers, (batch, height, width, channels).
        size: int32, the new height and width.
        align_corners: If True, the centres of the corner pixels of both images are aligned.
        half_pixel_centers: If True, the edges of both images are aligned, as in TensorFlow 2.
        name: Name of the operation.

    Returns:
        float32, (batch, new height, new width, channels).

    Raises:
        ValueError: If a shape is wrong.
    """
    return _resize_batch("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resizes a batch of images with the AREA method; see `resize_images`.

    Args:
        images: Numbers, (batch, height, width, channels).
        size: int32, the new height and width.
        align_corners: If True, the centres of the corner pixels of both images are aligned.
        name: Name of the operation.

    Returns:
        float32, (batch, new height, new width, channels).

    Raises:
        ValueError: If a shape is wrong.
    """
    return _resize_batch("ResizeArea", images, size, align_corners, False, name)


@takes_targets
def resize_image_with_pad(
    image: TensorLike,
    target_height: Size,
    target_width: Size,
    method: str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Move:
    """Resizes an image without changing its aspect ratio, and pads it with zeros to a size.

    The image is resized in the same way as in TensorFlow 1. See `resize_with_pad` for TensorFlow 2.

    Args:
        image: Numbers, (height, width, channels) or (batch, height, width, channels).
        target_height: The new height, an integer or a scalar integer tensor.
        target_width: The new width.
        method: The method; see `resize_images`.
        align_corners: See `resize_images`.

    Returns:
        float32, in the new size. NEAREST_NEIGHBOR keeps the type of the input.

    Raises:
        ValueError: If a size is not positive, or the image has the wrong rank.
    """
    way = _way_of_tf1(method, align_corners)
    return _resize_with_pad(image, target_height, target_width, way)


@takes_targets
def resize_with_pad(
    image: TensorLike,
    target_height: Size,
    target_width: Size,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Move:
    """Resizes an image without changing its aspect ratio, and pads it with zeros to a size.

    The image is resized in the same way as in TensorFlow 2. See `resize_image_with_pad` for
    TensorFlow 1.

    Args:
        image: Numbers, (height, width, channels) or (batch, height, width, channels).
        target_height: The new height, an integer or a scalar integer tensor.
        target_width: The new width.
        method: The method; see `resize`.
        antialias: See `resize`.

    Returns:
        float32, in the new size. NEAREST_NEIGHBOR keeps the type of the input.

    Raises:
        ValueError: If a size is not positive, or the image has the wrong rank.
    """
    way = _way_of_tf2(method, antialias)
    return _resize_with_pad(image, target_height, target_width, way)


def _resize_with_pad(
    image: TensorLike, target_height: Size, target_width: Size, way: _ResizeOp
) -> Move:
    with name_scope(None, "resize_image_with_pad", [image]):
        pixels = to_image(image)
        for number, text in ((target_width, "target_width"), (target_height, "target_height")):
            require(bool(number > 0) if is_number(number) else None, f"{text} must be > 0.")
        if pixels.shape.rank is None:  # A tensor of unknown rank is treated as one image.
            pixels = identity(pixels)
            pixels.set_shape([None, None, None])
        sizes: Any = (*known_sizes(pixels), target_height, target_width)
        if all(map(is_number, sizes)):
            fitted: Any = _fit(*sizes)
        else:
            inputs = [
                Input("shape", shape_of(pixels)),
                Input("target_height", target_height, dtypes.int32),
                Input("target_width", target_width, dtypes.int32),
            ]
            four = [(dtypes.int32, TensorShape([]))] * 4
            fitted = apply_op("FitImage", inputs, lambda *_: four).outputs
        height, width, above, left = fitted
        resized = _resize(pixels, [height, width], way, False, None, is_skipped_if_same=False)

        def padded(image: Tensor) -> Tensor:
            result: Tensor = pad_to_bounding_box(image, above, left, target_height, target_width)
            return result

        def homography(before: Tensor, _: Tensor) -> Tensor:
            scale = cast([height, width], dtypes.float64) / cast(before, dtypes.float64)
            return affine_map(scale[1], 0.0, left, 0.0, scale[0], above)

        return Move(
            pixels,
            padded(resized),
            homography,
            masks=lambda masks, _: padded(resize_masks(masks, [height, width])),
            with_targets=lambda: padded(_rounded(resized, pixels)),
        )


def _rounded(resized: Tensor, pixels: Tensor) -> Tensor:
    """Returns resized images as torchvision does: those of uint8 and uint16 images are rounded."""
    dtype = pixels.dtype.base_dtype
    is_rounded = dtype in (dtypes.uint8, dtypes.uint16) and resized.dtype.base_dtype != dtype
    return saturate_cast(rint(resized), dtype) if is_rounded else resized


def _fit(height: int, width: int, target_height: int, target_width: int) -> list[int]:
    """Returns the result of "FitImage": the new height and width, and the top and left padding."""
    size = np.array([height, width], np.float32)
    target = np.array([target_height, target_width], np.float32)
    fitted = size / (size / target).max()
    return [int(x) for x in (*fitted, *np.maximum(np.floor((target - fitted) / 2), 0))]


def _way_of_tf1(method: str, align_corners: bool) -> _ResizeOp:
    attrs = {"align_corners": bool(align_corners), "half_pixel_centers": False}
    return _ResizeOp(_method(_OP_TYPES, method), attrs)


def _way_of_tf2(method: str, antialias: bool) -> _ResizeOp:
    kernel = (_ANTIALIASED if antialias else _KERNELS).get(method)
    if kernel is not None:
        return _ResizeOp("ScaleAndTranslate", {"kernel_type": kernel, "antialias": bool(antialias)})
    half_pixel = method != ResizeMethod.AREA
    attrs = {"align_corners": False, "half_pixel_centers": half_pixel}
    return _ResizeOp(_method(_OP_TYPES, method), attrs)


def _method(methods: dict[str, str], method: str) -> str:
    if method not in methods:
        raise ValueError(f"Resize method is not implemented: {method}")
    return methods[method]


def _resize(
    images: TensorLike,
    size: TensorLike,
    way: _ResizeOp,
    preserve_aspect_ratio: bool,
    name: str | None,
    is_skipped_if_same: bool,
) -> Tensor:
    with name_scope(name, "resize", [images, size]):
        pixels = convert_to_tensor(images, name="images")
        if pixels.shape.rank is None:
            if pixels.graph.is_native:
                return _resize_any_rank(pixels, size, way, preserve_aspect_ratio)
            raise ValueError("'images' contains no shape.")
        if pixels.shape.rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        try:
            target_size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not target_size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        current, static = known_sizes(pixels), fold(target_size)
        if preserve_aspect_ratio and static is not None and None not in current:
            target_size = convert_to_tensor(
                _proportional(static, current), dtypes.int32, name="size"
            )
            preserve_aspect_ratio = False
        new_sizes: list[int | None] = [None, None]
        if not preserve_aspect_ratio:
            new_shape = constant_value_as_shape(target_size)
            new_sizes = [dimension_value(new_shape[axis]) for axis in (0, 1)]
        if is_skipped_if_same and None not in current and list(current) == new_sizes:
            return pixels
        attrs = {**way.attrs, "preserve_aspect_ratio": bool(preserve_aspect_ratio)}
        return _add(way.op_type, pixels, target_size, new_sizes, attrs, None)


def _resize_any_rank(
    pixels: Tensor, size: TensorLike, way: _ResizeOp, preserve_aspect_ratio: bool
) -> Tensor:
    """Resizes an image or a batch of images. Its rank may be unknown before the run."""
    shape = shape_of(pixels)
    batch = reshape(pixels, concat([[-1], shape[-3:]], 0))
    batch.set_shape([None, None, None, None])
    resized = _resize(batch, size, way, preserve_aspect_ratio, None, is_skipped_if_same=False)
    return reshape(resized, concat([shape[:-3], shape_of(resized)[1:]], 0))


def _proportional(target: Array, current: Sequence[int | None]) -> Array:
    size = np.array(current, np.float32)
    scaled: Array = (target.astype(np.float32) / size).min() * size
    return np.round(scaled).astype(np.int32)


def _resize_batch(
    op_type: str,
    images: TensorLike,
    size: TensorLike,
    align_corners: bool,
    half_pixel_centers: bool,
    name: str | None,
) -> Tensor:
    attrs = {
        "align_corners": bool(align_corners),
        "half_pixel_centers": bool(half_pixel_centers),
        "preserve_aspect_ratio": False,
    }

    def check(images: Tensor, size: Tensor) -> None:
        check_rank(images.shape, 4)
        check_rank(size.shape, 1)
        length = dimension_value(size.shape[0]) if size.shape.rank else None
        if length not in (None, 2):
            raise ShapeConflict(f"Dimension must be 2 but is {length}")

    return _add(op_type, images, size, None, attrs, name, check)


def _add(
    op_type: str,
    images: TensorLike,
    size: TensorLike,
    new_sizes: list[int | None] | None,
    attrs: dict[str, Any],
    name: str | None,
    check: Callable[[Tensor, Tensor], None] | None = None,
) -> Tensor:
    def infer(images: Tensor, size: Tensor) -> Outputs:
        if check is not None:
            check(images, size)
        sizes = new_sizes
        if sizes is None:
            new_shape = constant_value_as_shape(size)
            sizes = [dimension_value(new_shape[axis]) for axis in (0, 1)]
        is_nearest = op_type == "ResizeNearestNeighbor"
        dtype = images.dtype.base_dtype if is_nearest else dtypes.float32
        shape = resized_shape(images, *sizes)
        if images.shape.rank is None and check is not None:
            shape = TensorShape([None, *sizes, None])
        return [(dtype, shape)]

    inputs = [Input("images", images, allowed=REALS), Input("size", size, dtypes.int32)]
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


define("FitImage", is_own=True)
define("ResizeArea", is_own=True)
define("ResizeBicubic", is_own=True)
define("ResizeBilinear", is_own=True)
define("ResizeNearestNeighbor", is_own=True)
define("ScaleAndTranslate", is_own=True)
