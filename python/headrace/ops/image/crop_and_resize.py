"""Crops windows from images and resizes all windows to one size.

Source: `tf.image.crop_and_resize` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.ops.framework.inference import ShapeConflict, check_rank

__all__ = ["crop_and_resize"]

_IMAGE_TYPES: Final = (
    *(dtypes.uint8, dtypes.uint16, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.float16, dtypes.float32, dtypes.float64),
)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops windows from images and resizes all windows to one size.

    Args:
        image: Numbers, (batch, height, width, channels).
        boxes: float32, (n, 4): top, left, bottom and right of each window, from 0 to 1. If the
            sides are swapped, the window is flipped.
        box_ind: int32, (n,): the index of the image of each window.
        crop_size: int32, (2,): the height and width of all windows.
        method: "bilinear" or "nearest".
        extrapolation_value: The value of pixels outside the image.
        name: Name of the operation.

    Returns:
        float32, (n, *crop_size, channels).

    Raises:
        OutOfRangeError: At run time, if an index of `box_ind` is out of range.
        TypeError: If a type is wrong.
        ValueError: If a shape is wrong, or the method does not exist.
    """
    if method not in ("bilinear", "nearest"):
        raise ValueError(
            "Value for attr 'method' of "
            f'"{method}" is not in the list of allowed values: "bilinear", "nearest"'
        )

    def infer(image: Tensor, boxes: Tensor, numbers: Tensor, size: Tensor) -> Outputs:
        for tensor, rank in ((image, 4), (boxes, 2), (numbers, 1), (size, 1)):
            check_rank(tensor.shape, rank)
        if not boxes.shape.is_compatible_with([None, 4]):
            raise ShapeConflict(f"Dimension must be 4 but is {boxes.shape[1]}")
        if not size.shape.is_compatible_with([2]):
            raise ShapeConflict(f"Dimension must be 2 but is {size.shape[0]}")
        counts = [
            TensorShape([tensor.shape.with_rank_at_least(1)[0]]) for tensor in (boxes, numbers)
        ]
        if not counts[0].is_compatible_with(counts[1]):
            raise ShapeConflict(
                f"Dimensions must be equal, but are {counts[0][0]} and {counts[1][0]}"
            )
        depth = image.shape.with_rank(4)[3:]
        sizes = constant_value_as_shape(size).merge_with([None, None])
        shape = counts[0].merge_with(counts[1]).concatenate(sizes).concatenate(depth)
        return [(dtypes.float32, shape)]

    inputs = [
        Input("image", image, allowed=_IMAGE_TYPES),
        Input("boxes", boxes, dtypes.float32),
        Input("box_ind", box_ind, dtypes.int32),
        Input("crop_size", crop_size, dtypes.int32),
    ]
    attrs: dict[str, Any] = {"method": method, "extrapolation_value": float(extrapolation_value)}
    return apply_op("CropAndResize", inputs, infer, name=name, attrs=attrs).outputs[0]


define("CropAndResize")
