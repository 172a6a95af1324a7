"""A random window of an image that covers enough of its objects.

Source: `tf.image.sample_distorted_bounding_box` of TensorFlow 1.15.
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
        begin: (3,), the type of `image_size`: the offset of the window; the last number is 0.
        size: (3,), the type of `image_size`: the size of the window; the last number is -1, for
            all channels.
        bboxes: float32, (1, 1, 4): the window as a box: top, left, bottom, right, 0-1.
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
    """Draws a window of an image at random; give its begin and size to `slice`.

    Args:
        image_size: Height, width and number of channels, a vector of integers.
        bounding_boxes: float32, (1, n, 4): top, left, bottom and right of the objects, 0-1.
        seed: Determines the sequence of windows together with `seed2`. The graph's seed is not
            used. Without both, or if both are 0, every session has another sequence.
        seed2: The second half of the seed.
        min_object_covered: The fraction of at least one object that a window must show, a float
            scalar.
        aspect_ratio_range: The smallest and largest width / height of a window; None for 0.75 and
            1.33.
        area_range: The smallest and largest fraction of the image that a window covers; None for
            0.05 and 1.
        max_attempts: The number of unsuitable windows after which the whole image is taken; None
            for 100.
        use_image_if_no_bounding_boxes: Whether the whole image is the object if there are no
            boxes; else a run without boxes ends with InvalidArgumentError.
        name: Name of the operation.

    Returns:
        Begin, size, and the window as a box. A run with a box outside of the image, with a size
        that is not positive, or with ranges that make no sense ends with InvalidArgumentError.

    Raises:
        TypeError: If types do not fit.
        ValueError: If shapes do not fit.
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
