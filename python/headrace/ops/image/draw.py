"""Drawing boxes onto images.

Source: `tf.image.draw_bounding_boxes` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank

__all__ = ["draw_bounding_boxes"]


def draw_bounding_boxes(
    images: TensorLike,
    boxes: TensorLike,
    colors: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws boxes on images, with lines that are one pixel wide.

    Sides outside the image and boxes with swapped sides are not drawn.

    Args:
        images: float16 or float32, (batch, height, width, channels) with 1, 3 or 4 channels, from 0
            to 1.
        boxes: float32, (batch, n, 4): top, left, bottom and right of each box, from 0 to 1.
        colors: float32, (m, channels or more), from 0 to 1. The boxes of an image use these colours
            in turn. Defaults to ten colours.
        name: Name of the operation.

    Returns:
        A tensor of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if the batch sizes of `images` and `boxes` differ.
        TypeError: If a type is wrong.
        ValueError: If a shape is wrong.
    """
    inputs = [
        Input("images", images, allowed=(dtypes.float32, dtypes.float16), default=dtypes.float32),
        Input("boxes", boxes, dtypes.float32),
    ]
    if colors is None:
        return apply_op("DrawBoundingBoxes", inputs, _infer, name=name).outputs[0]
    inputs.append(Input("colors", colors, dtypes.float32))
    return apply_op("DrawBoundingBoxesV2", inputs, _infer_with_colors, name=name).outputs[0]


def _infer(pixels: Tensor, boxes: Tensor) -> Outputs:
    check_rank(pixels.shape, 4)
    depth = pixels.shape.with_rank(4)[3].value
    if depth not in (None, 1, 3, 4):
        raise ShapeConflict(
            f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {depth}"
        )
    _check_least_rank(boxes)
    if boxes.shape.rank is not None and boxes.shape[-1].value not in (None, 4):
        raise ShapeConflict(f"Dimension must be 4 but is {boxes.shape[-1]}")
    return [(pixels.dtype.base_dtype, pixels.shape)]


def _infer_with_colors(pixels: Tensor, _boxes: Tensor, _colors: Tensor) -> Outputs:
    # TensorFlow makes the remaining checks in `_infer` only during the run.
    _check_least_rank(pixels)
    return [(pixels.dtype.base_dtype, pixels.shape)]


def _check_least_rank(tensor: Tensor) -> None:
    rank = tensor.shape.rank
    if rank is not None and rank < 3:
        raise ShapeConflict(f"Shape must be at least rank 3 but is rank {rank}")


define("DrawBoundingBoxes")
define("DrawBoundingBoxesV2")
