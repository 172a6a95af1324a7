"""Resizes images to a size without changing their proportions."""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.join import stack
from headrace.ops.array.pad import pad
from headrace.ops.augment.arguments import (
    PIXELS,
    Pair,
    check_fill,
    one_image,
    size_of,
    values_of,
)
from headrace.ops.augment.targets import Move, affine_map, image_size, takes_targets
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.crop import pad_to_bounding_box
from headrace.ops.image.resize import resize, resize_masks
from headrace.ops.math.arithmetic import floordiv, maximum, minimum, rint
from headrace.ops.math.cast import cast
from headrace.ops.math.saturate_cast import saturate_cast

__all__ = ["letterbox"]

# The value of margins in images of bytes.
_GREY = 114.0


@takes_targets
def letterbox(image: TensorLike, size: Pair, fill: float | None = None) -> Move:
    """Resizes an image to fit into a size, and adds equal margins on opposite sides.

    The image keeps its proportions. It is resized bilinearly with antialiasing, and its sides are
    rounded to the nearest integer. If the margins along an axis add up to an odd number, the extra
    pixel is below or to the right. Masks are 0 in the margins.

    Args:
        image: uint8, uint16 or float32, (height, width, channels). The shape may be unknown.
        size: The height and width of the result, or one integer for both.
        fill: The value of pixels in the margins, from 0 to 255 for uint8 and to 65,535 for uint16.
            The default is the grey that YOLO models are trained with: 114 of 255, which is 29,298
            for uint16. For float32 images, the default is also 114, so pass a value that suits the
            range of their pixels.

    Returns:
        An image of the same type, (height, width, channels).

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image has the wrong type.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `resize` and `pad` in `torchvision.transforms.v2.functional`, whose pixels differ by at
    most 1, and the preprocessing of YOLO models.

    Examples:
        >>> fit = hr.native(lambda one: {"image": hr.ops.letterbox(one["image"], 8, fill=9)})
        >>> fit({"image": np.zeros((2, 4, 1), np.uint8)})["image"][:, 0, 0]
        array([9, 9, 0, 0, 0, 0, 9, 9], dtype=uint8)
    """
    target = size_of("letterbox", "size", size)
    with name_scope(None, "letterbox", [image]):
        pixels = one_image("letterbox", image, PIXELS)
        dtype = pixels.dtype.base_dtype
        grey = _GREY * (257 if dtype == dtypes.uint16 else 1)
        [value] = values_of("letterbox", "fill", grey if fill is None else fill)
        check_fill("letterbox", pixels, "fill", [value])
        before = image_size(pixels)
        sides = cast(before, dtypes.float64)
        ratios = convert_to_tensor(target, dtypes.float64) / sides
        fitted = sides * minimum(ratios[0], ratios[1])
        inner = maximum(cast(rint(fitted), dtypes.int32), 1)
        start = floordiv(convert_to_tensor(target, dtypes.int32) - inner, 2)
        resized = resize(pixels, inner, antialias=True)
        if not dtype.is_floating:
            resized = saturate_cast(rint(resized), dtype)
        rest = convert_to_tensor(target, dtypes.int32) - inner - start
        margins = stack([stack([start[0], rest[0]]), stack([start[1], rest[1]]), [0, 0]])
        moved = pad(resized, margins, constant_values=cast(value, resized.dtype.base_dtype))
        channels = pixels.shape.as_list()[2] if pixels.shape.rank == 3 else None
        moved.set_shape(TensorShape([*target, channels]))

        def homography(*_: Tensor) -> Tensor:
            scale = cast(inner, dtypes.float64) / sides
            return affine_map(scale[1], 0.0, start[1], 0.0, scale[0], start[0])

        def masks(masks: Tensor, _: Tensor) -> Tensor:
            return pad_to_bounding_box(resize_masks(masks, inner), start[0], start[1], *target)

        return Move(pixels, moved, homography, masks)
