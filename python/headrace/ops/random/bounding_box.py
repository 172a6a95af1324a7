"""Draws a random image window that covers enough of the objects.

Source: `tf.image.sample_distorted_bounding_box` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank

__all__ = ["sample_distorted_bounding_box"]


class SampleDistortedBoundingBox(NamedTuple):
    """The result of `sample_distorted_bounding_box`.

    Attributes:
        begin: (3,), with the type of `image_size`: the offset of the window. The last number is 0.
        size: (3,), with the type of `image_size`: the size of the window. The last number is -1,
            for all channels.
        bboxes: float32, (1, 1, 4): the window as a box: top, left, bottom and right, from 0 to 1.
    """

    begin: Tensor
    size: Tensor
    bboxes: Tensor


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """Draws a random window of an image. Pass its start and size to `slice`.

    Args:
        image_size: The height, width and number of channels, an integer vector.
        bounding_boxes: float32, (1, n, 4): top, left, bottom and right of the objects, from 0 to 1.
        seed: The first half of the seed in a TensorFlow 1 graph. The graph's seed is not used. If
            both halves are 0, every session draws a different sequence. In a pipeline, set the seed
            of `map` instead.
        seed2: The second half of the seed.
        min_object_covered: The minimum fraction of some object that the window must cover, a float
            scalar.
        aspect_ratio_range: The minimum and maximum aspect ratio, as width divided by height.
            Defaults to 0.75 and 1.33.
        area_range: The minimum and maximum fraction of the image that a window covers. Defaults to
            0.05 and 1.
        max_attempts: The number of attempts before the whole image is used. Defaults to 100.
        use_image_if_no_bounding_boxes: If True, the whole image counts as the object if there are
            no boxes. If False, missing boxes are an error.
        name: Name of the operation.

    Returns:
        The start, the size, and the window as a box.

    Raises:
        InvalidArgumentError: At run time, if a box is outside the image, a size is not positive, a
            range is invalid, or there are no boxes and `use_image_if_no_bounding_boxes` is False.
        TypeError: If a type is wrong.
        ValueError: If a shape is wrong.
    """

    def infer(size: Tensor, boxes: Tensor, covered: Tensor) -> Outputs:
        check_rank(size.shape, 1)
        check_rank(boxes.shape, 3)
        check_rank(covered.shape, 0)
        if not size.shape.is_compatible_with([3]):
            raise ShapeConflict(f"Dimension must be 3 but is {size.shape[0]}")
        if not boxes.shape.is_compatible_with([None, None, 4]):
            raise ShapeConflict(f"Dimension must be 4 but is {boxes.shape[2]}")
        window = (size.dtype.base_dtype, TensorShape([3]))
        return [window, window, (dtypes.float32, TensorShape([1, 1, 4]))]

    attrs: dict[str, Any] = {
        "seed": int(seed or 0),
        "seed2": int(seed2 or 0),
        "aspect_ratio_range": _floats(aspect_ratio_range, (0.75, 1.33)),
        "area_range": _floats(area_range, (0.05, 1.0)),
        "max_attempts": 100 if max_attempts is None else int(max_attempts),
        "use_image_if_no_bounding_boxes": bool(use_image_if_no_bounding_boxes),
    }
    with name_scope(name, "sample_distorted_bounding_box"):
        inputs = [
            Input("image_size", image_size, allowed=_SIZE_TYPES),
            Input("bounding_boxes", bounding_boxes, dtypes.float32),
            Input("min_object_covered", min_object_covered, dtypes.float32),
        ]
        op = apply_op(_TYPE, inputs, infer, name=name, attrs=attrs)
    return SampleDistortedBoundingBox(*op.outputs)


def _floats(values: Sequence[float] | None, default: Sequence[float]) -> list[float]:
    return [float(value) for value in (default if values is None else values)]


_TYPE = "SampleDistortedBoundingBoxV2"
_SIZE_TYPES = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)

define("SampleDistortedBoundingBoxV2", is_random=True)
