"""Crops random parts of images that overlap enough with one of their boxes.

Source: `torchvision.transforms.v2.RandomIoUCrop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import PIXELS, one_image, range_of
from headrace.ops.augment.targets import Move, Targets, image_size
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.image.crop import crop_to_bounding_box, cropped_at
from headrace.ops.image.frames import require
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_iou_crop"]

_OVERLAPS: Final = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def random_iou_crop(
    image: TensorLike,
    boxes: TensorLike,
    masks: TensorLike | None = None,
    keypoints: TensorLike | None = None,
    scale: Sequence[float] = (0.3, 1.0),
    ratio: Sequence[float] = (0.5, 2.0),
    overlaps: Sequence[float] = _OVERLAPS,
    trials: int = 40,
    format: str = "xyxy",
    normalized: bool = False,
    min_area: float | None = None,
    seed: int | None = None,
) -> Any:
    """Crops a random part of an image that overlaps enough with at least one box.

    First, a minimum overlap is drawn from `overlaps`. Then parts are drawn until the centre of a
    box is inside the part, and the overlap (intersection over union) of the box and the part is at
    least the minimum. If no part is suitable after `trials` attempts, another minimum is drawn. If
    the minimum is 1, or after 50 minima, the whole image is kept.

    Boxes whose centre is outside the part become (0, 0, 0, 0). To remove them, pass `min_area=1`.

    Args:
        image: uint8 or float32, (height, width, channels). The shape may be unknown.
        boxes: float32, (boxes, 4): the boxes, in pixels.
        masks: uint8 or bool, (masks, height, width): masks to move with the image.
        keypoints: float32, (points, 2) or (objects, points, 2): positions x, y to move with the
            image.
        scale: The smallest and largest width and height of the part, as fractions of the image's
            width and height.
        ratio: The minimum and maximum aspect ratio of the part: its width divided by its height.
        overlaps: The minimum overlaps to choose from, at least 0.
        trials: The number of parts to draw for each minimum, at least 1.
        format: The format of boxes: "xyxy", "xywh" or "cxcywh".
        normalized: If True, boxes and keypoints are fractions of the width and the height.
        min_area: The smallest area of a box in pixels of the result. Smaller boxes are removed,
            with their masks and keypoints.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        A named tuple: `image`, `boxes` and the other targets that you passed. If you pass
        `min_area`, it also contains `kept`, bool, (boxes,), which is False for removed boxes.

    Raises:
        InvalidArgumentError: At run time, if the image or a target has the wrong shape.
        TypeError: If the image has the wrong type.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomIoUCrop`, introduced in "SSD: Single Shot MultiBox
    Detector" (arXiv:1512.02325).
    """
    what = "random_iou_crop"
    require(
        isinstance(trials, int) and trials >= 1,
        f"{what}: trials is {trials!r}, expected a positive integer.",
    )
    minima = [float(overlap) for overlap in overlaps]
    require(
        bool(minima) and min(minima) >= 0,
        f"{what}: overlaps is {overlaps!r}, expected numbers of at least 0.",
    )
    attrs = {
        "what": what,
        "format": format,
        "normalized": bool(normalized),
        "scale": list(range_of(what, "scale", scale, _is_share, "positive numbers of at most 1")),
        "ratio": list(range_of(what, "ratio", ratio, _is_positive, "positive numbers")),
        "overlaps": minima,
        "trials": trials,
    }
    targets = Targets(what, boxes, masks, keypoints, format, normalized, min_area)
    with name_scope(None, what, [image]):
        pixels = one_image(what, image, PIXELS)
        draws = random_uniform([2], 0, dtypes.int32.max, dtypes.int32, seed)
        return targets.moved(_cropped(pixels, targets.box_tensor(), draws, attrs))


def _cropped(image: Tensor, boxes: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Move:
    def infer(boxes: Tensor, *_: Tensor) -> Outputs:
        count = boxes.shape.as_list()[0] if boxes.shape.rank == 2 else None
        return [(dtypes.int32, TensorShape([4])), (dtypes.bool, TensorShape([count]))]

    inputs = [
        Input("boxes", boxes, dtypes.float32),
        Input("draws", draws, dtypes.int32),
        Input("size", image_size(image), dtypes.int32),
    ]
    part, is_inside = apply_op("IouCropRegion", inputs, infer, attrs=attrs).outputs
    moved: Tensor = crop_to_bounding_box(image, part[0], part[1], part[2], part[3])
    return cropped_at(image, moved, lambda: part, part[2:], is_inside)


def _is_share(number: float) -> bool:
    return 0 < number <= 1


def _is_positive(number: float) -> bool:
    return number > 0


define("IouCropRegion", is_own=True)
