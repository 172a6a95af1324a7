"""Cuts images into patches for vision-language models.

Source: `Qwen2VLImageProcessor` of transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import known_image, one_image, values_of
from headrace.ops.augment.targets import image_size
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import int_attr
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank
from headrace.ops.image.file_size import image_size as file_size
from headrace.ops.image.frames import require

__all__ = ["patch_grid", "patches"]

_CHANNELS = 3
_MIN_PIXELS = 56 * 56
_MAX_PIXELS = 28 * 28 * 1280


class Patches(NamedTuple):
    """The result of `patches` for one image.

    Attributes:
        pixel_values: float32, (patches, 3 * temporal * patch * patch), one row for each patch.
        grid: int64, (3,): the number of frames (1), the number of rows of patches, and the number
            of patches in a row.
    """

    pixel_values: Tensor
    grid: Tensor

    @property
    def joined_by_each(self) -> tuple[str, ...]:
        """The results that `each` joins by default, because their lengths differ."""
        return ("pixel_values",)


def patches(
    image: TensorLike,
    patch: int = 14,
    merge: int = 2,
    min_pixels: int = _MIN_PIXELS,
    max_pixels: int = _MAX_PIXELS,
    *,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    temporal: int = 2,
    name: str | None = None,
) -> Patches:
    """Resizes an image and cuts it into patches, as Qwen2-VL and its successors do.

    The height and width are rounded to multiples of `patch * merge`, with about the same
    proportions. If the image then has too many or too few pixels, it is made smaller or larger. The
    filter is bicubic with antialiasing. The pixels are exactly the same as from
    `Qwen2VLImageProcessor` in transformers, which uses torchvision. Pixels from
    `Qwen2VLImageProcessorPil` rarely differ by more than 1/255.

    The model merges each block of `merge` x `merge` neighbouring patches into one token. The
    patches of a block follow each other, and blocks are ordered from left to right and from top to
    bottom. The values of a patch are ordered by channel, frame, row and column. An image has
    `temporal` equal frames, because the model reads two frames of a video at a time.

    Args:
        image: Pixels, uint8, (height, width, 3), 0-255, whose shape may be unknown. Or a file, a
            scalar string in any format of `decode_image`. Only the first frame of an animation is
            used. The EXIF orientation of a file is not applied: to apply it, decode the file with
            `orientation=True` first.
        patch: The height and width of a patch.
        merge: The height and width of a block of patches.
        min_pixels: The minimum number of pixels after resizing. The default is Qwen2-VL's.
        max_pixels: The maximum number of pixels after resizing. The default is Qwen2-VL's. Only a
            very long image may have more pixels.
        mean: One number per channel, or one for all channels, to subtract from the values. By
            default, values are from 0 to 1.
        std: The standard deviations by which the values are then divided.
        temporal: The number of frames. Pass 1 to omit the second frame.
        name: Name of the operation.

    Returns:
        A pair: `pixel_values`, float32, (patches, 3 * temporal * patch * patch), and `grid`, int64,
        (3,): 1, the number of rows of patches, and the number of patches in a row. These are
        `pixel_values` and one row of `image_grid_thw` in transformers.

    Raises:
        InvalidArgumentError: At run time, if the input is not one image with three channels, if one
            side is more than 200 times as long as the other, or if the file is damaged.
        TypeError: If the image is neither uint8 nor a string.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `Qwen2VLImageProcessor` of transformers 5.

    Examples:
        >>> cut = hr.native(lambda one: hr.ops.patches(one["image"])._asdict())
        >>> cut({"image": np.zeros((60, 90, 3), np.uint8)})["grid"]
        array([1, 4, 6])
    """
    what = "patches"
    attrs = _sizes(what, patch, merge, min_pixels, max_pixels)
    attrs["temporal"] = _positive(what, "temporal", temporal)
    for key, values in (
        ("mean", 0.0 if mean is None else mean),
        ("std", 1.0 if std is None else std),
    ):
        numbers = values_of(what, key, values)
        require(
            len(numbers) in (1, _CHANNELS),
            f"{what}: {key} has {len(numbers)} values, expected one, or one for each of the "
            f"{_CHANNELS} channels.",
        )
        require(
            key == "mean" or 0 not in numbers,
            f"{what}: std is {std!r}, but a standard deviation cannot be 0.",
        )
        attrs[key] = numbers * (_CHANNELS // len(numbers))
    pixels = convert_to_tensor(image, name="image")
    if pixels.dtype.base_dtype != dtypes.string:
        one_image(what, pixels)

    def infer(image: Tensor) -> Outputs:
        if image.dtype.base_dtype == dtypes.string:
            check_rank(image.shape, 0)
        else:
            channels = known_image(image).as_list()[2]
            require(
                channels in (None, _CHANNELS),
                f"{what}: the image has shape {image.shape}, expected (height, width, 3). Decode "
                "it with channels=3.",
            )
        return [
            (dtypes.float32, TensorShape([None, _CHANNELS * temporal * patch * patch])),
            (dtypes.int64, TensorShape([3])),
        ]

    op = apply_op("Patches", [Input("image", pixels)], infer, name=name, attrs=attrs)
    return Patches(*op.outputs)


def patch_grid(
    image: TensorLike,
    patch: int = 14,
    merge: int = 2,
    min_pixels: int = _MIN_PIXELS,
    max_pixels: int = _MAX_PIXELS,
    *,
    orientation: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the number of patches that `patches` would return, without decoding the image.

    Only the header of the file is read. Use it to choose or balance examples by their cost before
    their images are decoded: a model reads `grid.prod() // merge**2` tokens for an image.

    Args:
        image: A file, a scalar string in any format of `decode_image`, or pixels.
        patch: See `patches`.
        merge: See `patches`.
        min_pixels: See `patches`.
        max_pixels: See `patches`.
        orientation: Only for a file: whether its EXIF orientation is applied, as with
            `decode_image(image, orientation=True)`. `patches` itself does not apply it.
        name: Name of the operation.

    Returns:
        int64, (3,): 1, the number of rows of patches, and the number of patches in a row, as
        `patches(...).grid`.

    Raises:
        InvalidArgumentError: When run, if the file is not an image, its header is damaged, or one
            side is more than 200 times as long as the other.
        ValueError: If an argument is out of range, or `orientation` is set for pixels.

    Examples:
        >>> grid = hr.native(lambda one: {"grid": hr.ops.patch_grid(one["image"])})
        >>> grid({"image": np.zeros((60, 90, 3), np.uint8)})["grid"]
        array([1, 4, 6])
    """
    what = "patch_grid"
    attrs = _sizes(what, patch, merge, min_pixels, max_pixels)
    with name_scope(None, what, [image]):
        pixels = convert_to_tensor(image, name="image")
        if pixels.dtype.base_dtype == dtypes.string:
            size = file_size(pixels, orientation)
        else:
            require(
                not orientation,
                f"{what}: orientation is True, but the image is already decoded. Pass orientation "
                "to the decoder.",
            )
            size = image_size(one_image(what, pixels))

        def infer(_: Tensor) -> Outputs:
            return [(dtypes.int64, TensorShape([3]))]

        inputs = [Input("size", size, dtypes.int32)]
        return apply_op("PatchGrid", inputs, infer, name=name, attrs=attrs).outputs[0]


def _sizes(
    what: str, patch: int, merge: int, min_pixels: int, max_pixels: int
) -> dict[str, object]:
    """Returns the attributes that determine the size of a resized image.

    Raises:
        TypeError: If one is not an integer.
        ValueError: If one is out of range.
    """
    sizes = {"patch": patch, "merge": merge, "min_pixels": min_pixels, "max_pixels": max_pixels}
    attrs: dict[str, object] = {key: _positive(what, key, size) for key, size in sizes.items()}
    require(
        min_pixels <= max_pixels,
        f"{what}: min_pixels is {min_pixels}, but max_pixels is only {max_pixels}.",
    )
    return attrs


def _positive(what: str, key: str, size: int) -> int:
    number = int_attr(key, size)
    require(number > 0, f"{what}: {key} is {size}, expected a positive integer.")
    return number


define("PatchGrid", is_own=True)
define("Patches", is_own=True)
