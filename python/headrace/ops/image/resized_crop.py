"""Random parts of images, resized.

Source: `torchvision.transforms.v2.RandomResizedCrop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import Pair, one_image, range_of, size_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_resized_crop"]

_NUM_DRAWS = 22


def random_resized_crop(
    image: TensorLike,
    size: Pair,
    scale: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    channels: int | None = None,
    seed: int | None = None,
    dct_method: str = "",
) -> Tensor:
    """Cuts a random part out of an image, or out of the bytes of a file, and resizes it.

    Of a JPEG only that part is decoded, and its pixels are those that `decode_image` gives; files
    of other formats are decoded first. Ten sizes are drawn, with areas evenly distributed and
    logarithms of ratios, too; the first that fits is taken, at an even place. If none fits, the
    middle is taken, with the nearest ratio. The part is resized bilinearly, with antialiasing. For
    the same part, pixels differ from those of torchvision's tensors by at most 1.

    Args:
        image: uint8, (height, width, channels), 0-255, whose shape may be unknown; or the bytes of
            a file, a scalar string, of any format of `decode_image`. An EXIF orientation is not
            applied to a file: decode it with `orientation=True` first. Damage of a JPEG below the
            part is not noticed.
        size: Height and width of the result; one integer for both.
        scale: The least and the largest area of the part, as a part of that of the image.
        ratio: The least and the largest ratio of its width to its height.
        channels: Of a file 1 for grey, 3 for RGB, which None means too, or 0 for as many as are
            stored. None for pixels.
        seed: With the graph's seed, determines which; see `headrace.graph.get_seed`.
        dct_method: For the bytes of a JPEG, "accurate" (the default) or "fast"; see `decode_jpeg`.

    Returns:
        uint8, (height, width, channels). A run with another shape than one image, or a damaged
        file, ends with InvalidArgumentError.

    Raises:
        TypeError: If the image is neither uint8 nor a string.
        ValueError: If an argument is out of range, or the image has another rank.

    Source: `torchvision.transforms.v2.RandomResizedCrop`.
    """
    what = "random_resized_crop"
    height, width = size_of(what, "size", size)
    attrs = {
        "height": height,
        "width": width,
        "scale": list(range_of(what, "scale", scale, _is_part, "numbers above 0, at most 1")),
        "ratio": list(range_of(what, "ratio", ratio, _is_positive, "numbers above 0")),
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
                        f"{what}: {name} is {value!r} for an image that is decoded already, "
                        "expected None. Pass it to the decoder."
                    )
            one_image(what, pixels)
            attrs["channels"] = 0
        return _cropped(pixels, random_uniform([_NUM_DRAWS], seed=seed), attrs)


def _cropped(image: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Tensor:
    """Crops by random numbers of [0, 1), float32: ten areas and ratios, row, column."""

    def infer(image: Tensor, draws: Tensor) -> Outputs:
        channels = attrs["channels"] or None
        if image.dtype.base_dtype == dtypes.string:
            check_rank(image.shape, 0)
        elif image.shape.rank == 3:
            channels = image.shape.as_list()[2]
        return [(dtypes.uint8, TensorShape([attrs["height"], attrs["width"], channels]))]

    inputs = [Input("image", image), Input("draws", draws, dtypes.float32)]
    return apply_op("RandomResizedCrop", inputs, infer, attrs=attrs).outputs[0]


def _is_part(number: float) -> bool:
    return 0 < number <= 1


def _is_positive(number: float) -> bool:
    return number > 0


define("RandomResizedCrop", is_own=True)
