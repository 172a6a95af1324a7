"""Cropping and padding images.

Source: `tf.image.crop_to_bounding_box` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.targets import Move, affine_map, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.image.frames import Size, is_number, known_sizes, require, resized_shape, to_image
from headrace.ops.math.arithmetic import floordiv, maximum
from headrace.ops.math.cast import cast

__all__ = [
    "central_crop",
    "crop_to_bounding_box",
    "pad_to_bounding_box",
    "resize_image_with_crop_or_pad",
]


@takes_targets
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: Size,
    offset_width: Size,
    target_height: Size,
    target_width: Size,
) -> Move:
    """Crops an image, or each image in a batch, to a window.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        offset_height: The first row of the window, an integer or a scalar integer tensor.
        offset_width: The first column of the window.
        target_height: The height of the window.
        target_width: The width of the window.

    Returns:
        The window.

    Raises:
        InvalidArgumentError: At run time, if the window is not inside the image.
        ValueError: If the window is known not to be inside the image, or the image has the wrong
            rank.

    Examples:
        >>> crop = hr.native(lambda one: {"y": hr.ops.crop_to_bounding_box(one["x"], 0, 0, 2, 3)})
        >>> crop({"x": np.zeros((4, 4, 3), np.uint8)})["y"].shape
        (2, 3, 3)
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        pixels = to_image(image)
        height, width = known_sizes(pixels)
        require(_at_least(offset_width, 0), "offset_width must be >= 0.")
        require(_at_least(offset_height, 0), "offset_height must be >= 0.")
        require(_at_least(target_width, 1), "target_width must be > 0.")
        require(_at_least(target_height, 1), "target_height must be > 0.")
        require(_fits(width, target_width, offset_width), "width must be >= target + offset.")
        require(_fits(height, target_height, offset_height), "height must be >= target + offset.")
        window = (offset_height, offset_width, target_height, target_width)
        return Move(
            pixels,
            _apply("CropToBoundingBox", pixels, window, target_height, target_width),
            homography=lambda *_: shifted(-_float(offset_width), -_float(offset_height)),
            masks=lambda masks, _: _apply("CropToBoundingBox", masks, window, None, None),
        )


@takes_targets
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: Size,
    offset_width: Size,
    target_height: Size,
    target_width: Size,
) -> Move:
    """Pads an image, or each image in a batch, with zeros to a larger size.

    Args:
        image: Numbers, (height, width, channels) or (batch, height, width, channels).
        offset_height: The number of rows of zeros above, an integer or a scalar integer tensor.
        offset_width: The number of columns of zeros to the left.
        target_height: The height of the result.
        target_width: The width of the result.

    Returns:
        The padded image.

    Raises:
        InvalidArgumentError: At run time, if the image does not fit into the result.
        ValueError: If the image is known not to fit, or has the wrong rank.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        pixels = to_image(image)
        height, width = known_sizes(pixels)
        require(_at_least(offset_height, 0), "offset_height must be >= 0")
        require(_at_least(offset_width, 0), "offset_width must be >= 0")
        require(_fits(target_width, offset_width, width), "width must be <= target - offset")
        require(_fits(target_height, offset_height, height), "height must be <= target - offset")
        window = (offset_height, offset_width, target_height, target_width)
        return Move(
            pixels,
            _apply("PadToBoundingBox", pixels, window, target_height, target_width),
            homography=lambda *_: shifted(_float(offset_width), _float(offset_height)),
            masks=lambda masks, _: _apply("PadToBoundingBox", masks, window, None, None),
        )


@takes_targets
def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: Size, target_width: Size
) -> Move:
    """Crops or pads an image to a size, without scaling it.

    A larger image is cropped, and a smaller one is padded with zeros. The image stays centred. If
    the difference is odd, the larger part is at the end.

    Args:
        image: Numbers, (height, width, channels) or (batch, height, width, channels).
        target_height: The new height, an integer or a scalar integer tensor.
        target_width: The new width.

    Returns:
        An image of this size.

    Raises:
        InvalidArgumentError: At run time, if a size is not positive.
        ValueError: If a size is known not to be positive, or the image has the wrong rank.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        pixels = to_image(image)
        require(_at_least(target_width, 1), "target_width must be > 0.")
        require(_at_least(target_height, 1), "target_height must be > 0.")
        size = (target_height, target_width)
        moved = _apply("ResizeWithCropOrPad", pixels, size, target_height, target_width)

        def homography(before: Tensor, after: Tensor) -> Tensor:
            added = after - before
            start = floordiv(maximum(added, 0), 2) - floordiv(maximum(-added, 0), 2)
            return shifted(start[1], start[0])

        return Move(
            pixels,
            moved,
            homography=homography,
            masks=lambda masks, _: _apply("ResizeWithCropOrPad", masks, size, None, None),
        )


@takes_targets
def central_crop(image: TensorLike, central_fraction: float) -> Move:
    """Crops the centre of an image, or of each image in a batch.

    Args:
        image: Numbers or bools, (height, width, channels) or (batch, height, width, channels).
        central_fraction: The fraction of the height and of the width to keep, above 0 and up to 1.

    Returns:
        The centre, or the image itself if the fraction is 1.

    Raises:
        ValueError: If the fraction is out of range, or the image has the wrong rank.
    """
    with name_scope(None, "central_crop", [image]):
        pixels = to_image(image)
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return Move(pixels, pixels, lambda *_: shifted(0.0, 0.0), lambda masks, _: masks)
        if pixels.shape.rank is None:
            raise ValueError(
                "`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = None."
            )
        sizes = [
            None if size is None else size - 2 * int((size - size * central_fraction) / 2)
            for size in known_sizes(pixels)
        ]
        moved = _central_crop(pixels, central_fraction, sizes)

        def homography(before: Tensor, after: Tensor) -> Tensor:
            removed = floordiv(before - after, 2)
            return shifted(-removed[1], -removed[0])

        return Move(
            pixels,
            moved,
            homography=homography,
            masks=lambda masks, _: _central_crop(masks, central_fraction, [None, None]),
        )


def cropped_at(
    image: Tensor,
    cropped: Tensor,
    start: Callable[[], Tensor],
    size: Tensor,
    is_inside: Tensor | None = None,
) -> Move:
    """Returns an image crop whose position is only known when the graph runs.

    Args:
        image: The image.
        cropped: The crop.
        start: A function that returns the first row and column, and perhaps more integers.
        size: The height and the width, and perhaps more integers.
        is_inside: Whether each box is still in the image; see `Move`.
    """

    def crop_masks(masks: Tensor, _: Tensor) -> Tensor:
        first = start()
        window = (first[0], first[1], size[0], size[1])
        return _apply("CropToBoundingBox", masks, window, None, None)

    def homography(*_: Tensor) -> Tensor:
        first = start()
        return shifted(-first[1], -first[0])

    return Move(image, cropped, homography=homography, masks=crop_masks, is_inside=is_inside)


def shifted(across: TensorLike, down: TensorLike) -> Tensor:
    """Returns the map that moves positions to the right and down."""
    return affine_map(1.0, 0.0, across, 0.0, 1.0, down)


def _float(number: Size) -> Tensor:
    return cast(number, dtypes.float64)


def _central_crop(image: Tensor, fraction: float, sizes: Sequence[int | None]) -> Tensor:
    height, width = sizes
    op = apply_op(
        "CentralCrop",
        [Input("image", image)],
        lambda image: [(image.dtype.base_dtype, resized_shape(image, height, width))],
        attrs={"central_fraction": float(fraction)},
    )
    return op.outputs[0]


def _apply(
    op_type: str, image: Tensor, numbers: Sequence[Size], height: Size | None, width: Size | None
) -> Tensor:
    names = ("offset_height", "offset_width", "target_height", "target_width")[-len(numbers) :]
    inputs = [Input("image", image)]
    inputs += [
        Input(name, number, dtypes.int32) for name, number in zip(names, numbers, strict=True)
    ]

    def infer(image: Tensor, *_: Tensor) -> Outputs:
        return [(image.dtype.base_dtype, resized_shape(image, height, width))]

    return apply_op(op_type, inputs, infer).outputs[0]


def _at_least(number: Size, limit: int) -> bool | None:
    return bool(number >= limit) if is_number(number) else None


def _fits(limit: Size | None, *parts: Size | None) -> bool | None:
    sizes = [part for part in parts if is_number(part)]
    if not is_number(limit) or len(sizes) < len(parts):
        return None
    return bool(limit >= sum(sizes))


define("CentralCrop", is_own=True)
define("CropToBoundingBox", is_own=True)
define("PadToBoundingBox", is_own=True)
define("ResizeWithCropOrPad", is_own=True)
