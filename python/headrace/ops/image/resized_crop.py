"""Crops random parts of images and resizes them.

Source: `torchvision.transforms.v2.RandomResizedCrop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import PIXELS, Pair, one_image, range_of, size_of
from headrace.ops.augment.targets import Move, affine_map, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank
from headrace.ops.image.crop import crop_to_bounding_box
from headrace.ops.image.resize import resize_masks
from headrace.ops.math.cast import cast
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_resized_crop"]

_NUM_DRAWS = 22


@takes_targets
def random_resized_crop(
    image: TensorLike,
    size: Pair,
    scale: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    channels: int | None = None,
    seed: int | None = None,
    dct_method: str = "",
) -> Move:
    """Crops a random part of an image and resizes it.

    The image can be pixels or the bytes of a file. From a JPEG file, only this part is decoded, and
    its pixels are the same as from `decode_image`. Files of other formats are decoded completely
    first.

    Ten sizes are drawn, with areas and logarithms of aspect ratios evenly distributed. The first
    size that fits is used, at a random position. If none fits, the part is the centre of the image
    with the nearest allowed aspect ratio. The part is resized bilinearly with antialiasing. For the
    same part, pixels differ from torchvision's results for tensors by at most 1, or by 1e-5 of the
    largest value for float32.

    Args:
        image: Pixels, uint8, uint16 or float32, (height, width, channels), whose shape may be
            unknown. Or a file, a scalar string in any format of `decode_image`. The EXIF
            orientation of a file is not applied: to apply it, decode the file with
            `orientation=True` first. Damage in a JPEG below the part is not detected.
        size: The height and width of the result, or one integer for both.
        scale: The minimum and maximum area of the part, as a fraction of the image.
        ratio: The minimum and maximum aspect ratio of the part: its width divided by its height.
        channels: Only for a file: 1 for grey, 3 for RGB (the default), and 0 for the stored number
            of channels.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        dct_method: For a JPEG file, "accurate" (the default) or "fast"; see `decode_jpeg`.

    Returns:
        An image of the same type, (height, width, channels). uint8 for a file.

    Raises:
        InvalidArgumentError: When run, if the input is not one image, or the file is damaged.
        TypeError: If the image is neither uint8, uint16, float32 nor a string.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomResizedCrop`.

    Examples:
        >>> crop = hr.native(lambda one: {"x": hr.ops.random_resized_crop(one["x"], 4)})
        >>> pipe = hr.arrays({"x": np.zeros((2, 8, 8, 3), np.uint8)}).map(crop, seed=7)
        >>> next(iter(pipe.batch(2)))["x"].shape
        (2, 4, 4, 3)
    """
    what = "random_resized_crop"
    height, width = size_of(what, "size", size)
    attrs = {
        "height": height,
        "width": width,
        "scale": list(range_of(what, "scale", scale, _is_part, "positive numbers of at most 1")),
        "ratio": list(range_of(what, "ratio", ratio, _is_positive, "positive numbers")),
    }
    with name_scope(None, what, [image]):
        pixels = convert_to_tensor(image, name="image")
        is_file = pixels.dtype.base_dtype == dtypes.string
        if is_file:
            if channels not in (None, 0, 1, 3):
                raise ValueError(f"{what}: channels is {channels!r}, expected 0, 1 or 3.")
            attrs["channels"] = 3 if channels is None else channels
            attrs["dct_method"] = dct_method
        else:
            for name, value in (("channels", channels), ("dct_method", dct_method or None)):
                if value is not None:
                    raise ValueError(
                        f"{what}: {name} is {value!r}, but the image is already decoded. Pass "
                        f"{name} to the decoder."
                    )
            one_image(what, pixels, PIXELS)
            attrs["channels"] = 0
        return _cropped(pixels, random_uniform([_NUM_DRAWS], seed=seed), attrs)


def _cropped(image: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Move:
    """Crops the part that ten areas and ratios, a row and a column (float32 in [0, 1)) select."""

    def infer(image: Tensor, draws: Tensor) -> Outputs:
        channels = attrs["channels"] or None
        is_file = image.dtype.base_dtype == dtypes.string
        if is_file:
            check_rank(image.shape, 0)
        elif image.shape.rank == 3:
            channels = image.shape.as_list()[2]
        shape = TensorShape([attrs["height"], attrs["width"], channels])
        dtype = dtypes.uint8 if is_file else image.dtype.base_dtype
        return [(dtype, shape), (dtypes.int32, TensorShape([6]))]

    inputs = [Input("image", image), Input("draws", draws, dtypes.float32)]
    moved, part = apply_op("RandomResizedCrop", inputs, infer, attrs=attrs).outputs
    size = [attrs["height"], attrs["width"]]

    def homography(*_: Tensor) -> Tensor:
        start, part_size = cast(part[:2], dtypes.float64), cast(part[2:4], dtypes.float64)
        scale = cast(size, dtypes.float64) / part_size
        added = -start * scale
        return affine_map(scale[1], 0.0, added[1], 0.0, scale[0], added[0])

    def masks(masks: Tensor, size: Tensor) -> Tensor:
        return resize_masks(crop_to_bounding_box(masks, part[0], part[1], part[2], part[3]), size)

    sizes = (part[4:], convert_to_tensor(size, dtypes.int32))
    return Move(image, moved, homography, masks, sizes=sizes)


def _is_part(number: float) -> bool:
    return 0 < number <= 1


def _is_positive(number: float) -> bool:
    return number > 0


define("RandomResizedCrop", is_own=True)
