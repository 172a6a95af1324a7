"""Combines four images into one.

Source: the `Mosaic` augmentation of YOLO models, introduced in "YOLOv4: Optimal Speed and Accuracy
of Object Detection" (arXiv:2004.10934).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.join import concat, stack
from headrace.ops.array.pad import pad
from headrace.ops.augment.arguments import Pair, range_of, size_of, values_of
from headrace.ops.augment.combine import Combination, images_of
from headrace.ops.augment.targets import Move, affine_map, image_size
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.crop import shifted
from headrace.ops.image.frames import require
from headrace.ops.image.resize import resize, resize_masks
from headrace.ops.math.arithmetic import maximum, minimum, rint
from headrace.ops.math.cast import cast
from headrace.ops.math.saturate_cast import saturate_cast
from headrace.ops.random.numbers import random_uniform

__all__ = ["mosaic"]


def mosaic(
    images: Sequence[TensorLike],
    size: Pair,
    boxes: Sequence[TensorLike] | None = None,
    masks: Sequence[TensorLike] | None = None,
    keypoints: Sequence[TensorLike] | None = None,
    labels: Sequence[TensorLike] | None = None,
    center_range: float | Sequence[float] = (0.25, 0.75),
    fill: float = 114.0,
    format: str = "xyxy",
    normalized: bool = False,
    min_area: float | None = None,
    seed: int | None = None,
) -> Any:
    """Combines four images around a random centre, as YOLO trainers do.

    Each image is resized, with its proportions, to fit into half of the width and height. The first
    image is placed above and to the left of the centre, the second one to its right, and the third
    and fourth below them. Parts outside the result are cut off, and empty areas are filled. Images
    are resized in the same way as by `letterbox`.

    To get the mosaic of a trainer whose image size is 640, pass `size=1280`, then scale and crop
    the result. To get four images in one example, use `hr.zip` with shuffles of different seeds.

    Args:
        images: Four images, uint8 or float32, (height, width, channels). They may differ in height
            and width, and the shapes may be unknown.
        size: The height and width of the result, each at least 2, or one integer for both.
        boxes: The boxes of each image, four float32 tensors, (boxes, 4), in pixels. Boxes are
            clipped to the visible part of their quarter. None is removed unless you pass
            `min_area`.
        masks: The masks of each image, uint8 or bool, (masks, height, width). The resulting masks
            have the size of the result, and are 0 outside their image.
        keypoints: The positions x, y in each image, float32, (points, 2) or (objects, points, 2).
        labels: One value per object of each image, of any type, (objects, ...).
        center_range: The smallest and largest position of the centre along each axis, as fractions
            of the side, above 0 and below 1. Pass one number to fix it.
        fill: The value of pixels without an image, from 0 to 255 for uint8. The default is the grey
            that YOLO models are trained with.
        format: The format of boxes: "xyxy" (left, top, right, bottom), "xywh" (left, top, width,
            height) or "cxcywh" (centre, width, height).
        normalized: If True, boxes and keypoints are fractions of the width and the height.
        min_area: The smallest area of a box in pixels of the result. Smaller boxes are removed,
            with their masks, keypoints and labels.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        An image of this size. If you pass targets or labels, a named tuple with `image` and the
        targets that you passed (`boxes`, `masks`, `keypoints`, `labels`), each concatenated in the
        order of the images. If you pass `min_area`, the tuple also contains `kept`, bool, which is
        False for removed boxes.

    Raises:
        InvalidArgumentError: When run, if an image or a target has the wrong shape, or the numbers
            of labels and boxes differ.
        TypeError: If an argument is not a list, or an image has the wrong type.
        ValueError: If an argument is out of range, or a list does not have four tensors.

    Examples:
        >>> data = {"image": np.zeros((8, 6, 4, 3), np.uint8), "boxes": [[[0, 0, 4, 6]]] * 8}
        >>> pipe = hr.arrays(data)
        >>> four = hr.zip({f"{k}": pipe.shuffle(seed=k) for k in range(4)})
        >>> @hr.native
        ... def combine(example):
        ...     images = [example[f"{k}.image"] for k in range(4)]
        ...     boxes = [example[f"{k}.boxes"] for k in range(4)]
        ...     return hr.ops.mosaic(images, 16, boxes, center_range=0.5)._asdict()
        >>> [first, *_] = four.map(combine, seed=4)
        >>> first["image"].shape
        (16, 16, 3)
        >>> first["boxes"][:2]
        array([[ 3.,  0.,  8.,  8.],
               [ 8.,  0., 13.,  8.]], dtype=float32)
    """
    what = "mosaic"
    height, width = size_of(what, "size", size)
    require(min(height, width) >= 2, f"{what}: size is {size!r}, expected sides of at least 2.")
    low, high = range_of(
        what, "center_range", center_range, lambda part: 0 < part < 1, "numbers above 0 and below 1"
    )
    [value] = values_of(what, "fill", fill)
    targets = Combination(what, 4, boxes, masks, keypoints, labels, format, normalized, min_area)
    with name_scope(None, what, list(images) if isinstance(images, (list, tuple)) else []):
        pixels = images_of(what, images, 4)
        require(
            pixels[0].dtype.base_dtype != dtypes.uint8 or 0 <= value <= 255,
            f"{what}: fill is {fill!r}, expected a number from 0 to 255.",
        )
        part = convert_to_tensor(low, dtypes.float64)
        if high > low:
            part = random_uniform([2], low, high, dtypes.float64, seed)
        sides = convert_to_tensor([height, width], dtypes.float64)
        center = cast(part * sides, dtypes.int32)
        center = maximum(minimum(center, [height - 1, width - 1]), 1)
        return _combined(pixels, (height, width), center, value, targets)


def _combined(
    images: Sequence[Tensor],
    size: tuple[int, int],
    center: Tensor,
    fill: float,
    targets: Combination,
) -> Any:
    """Places images around a centre, int32 (2,): the first row and column of the fourth image."""
    rest = convert_to_tensor(size, dtypes.int32) - center
    sizes = [
        stack([(rest if is_below else center)[0], (rest if is_right else center)[1]])
        for is_below in (False, True)
        for is_right in (False, True)
    ]
    half = convert_to_tensor([side / 2 for side in size], dtypes.float64)
    quarters = [
        _quarter(image, half, sizes[number], number, fill) for number, image in enumerate(images)
    ]
    pixels = [quarter.moved for quarter in quarters]
    image = concat([concat(pixels[:2], 1), concat(pixels[2:], 1)], 0)
    channels = {one.shape.as_list()[2] for one in images if one.shape.rank == 3} - {None}
    image.set_shape(TensorShape([*size, channels.pop() if channels else None]))

    def moves(number: int) -> list[Move]:
        start = center * [number // 2, number % 2]
        end = convert_to_tensor(size, dtypes.int32) - start - sizes[number]
        placed = Move(
            pixels[number],
            image,
            homography=lambda *_: shifted(start[1], start[0]),
            masks=lambda masks, _: pad(masks, _margins(start, end)),
        )
        return [quarters[number], placed]

    return targets.combined(image, moves)


def _quarter(image: Tensor, half: Tensor, size: Tensor, number: int, fill: float) -> Move:
    """Resizes an image, and crops and pads it so that its corner is at the centre.

    Args:
        image: The image.
        half: Half of the height and the width of the mosaic, into which the image must fit.
        size: The height and width of the quarter.
        number: The number of the quarter: 0 for the upper left one, 3 for the lower right one.
        fill: The value of pixels without an image.
    """
    sides = cast(image_size(image), dtypes.float64)
    ratios = half / sides
    inner = maximum(cast(rint(sides * minimum(ratios[0], ratios[1])), dtypes.int32), 1)
    visible = minimum(inner, size)
    # Images end at the centre if they lie above it, or to its left.
    is_before = [1 - number // 2, 1 - number % 2]
    cut, before = (inner - visible) * is_before, (size - visible) * is_before
    after = size - visible - before

    def placed(images: Tensor, value: float) -> Tensor:
        """Crops and pads images whose last three axes are the height, the width and channels."""
        end = cut + visible
        part = images[..., cut[0] : end[0], cut[1] : end[1], :]
        margins = _margins(before, after)
        margins = margins[1:] if images.shape.rank == 3 else margins
        return pad(part, margins, constant_values=cast(value, images.dtype.base_dtype))

    resized = resize(image, inner, antialias=True)
    if image.dtype.base_dtype == dtypes.uint8:
        resized = saturate_cast(rint(resized), dtypes.uint8)
    resized.set_shape(TensorShape([None, None, None]))

    def homography(*_: Tensor) -> Tensor:
        scale, shift = cast(inner, dtypes.float64) / sides, before - cut
        return affine_map(scale[1], 0.0, shift[1], 0.0, scale[0], shift[0])

    return Move(
        image,
        placed(resized, fill),
        homography,
        masks=lambda masks, _: placed(resize_masks(masks, inner), 0.0),
    )


def _margins(before: Tensor, after: Tensor) -> Tensor:
    """Returns the margins of images (images, height, width, channels)."""
    sides = [stack([before[axis], after[axis]]) for axis in (0, 1)]
    return stack([[0, 0], *sides, [0, 0]])
