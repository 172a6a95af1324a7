"""Non-maximum suppression, which removes boxes that overlap better boxes.

Source: `tf.image.non_max_suppression` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed, scalar, vector
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.folding import constant_value
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = [
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
]

_FLOATS = (dtypes.float16, dtypes.float32)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -math.inf,
    name: str | None = None,
) -> Tensor:
    """Selects boxes with high scores, except boxes that overlap a box that is already selected.

    Args:
        boxes: float16 or float32, (boxes, 4): two opposite corners of each box, as y1, x1, y2, x2.
        scores: The score of each box.
        max_output_size: The maximum number of boxes to select, an int32 scalar.
        iou_threshold: Two boxes overlap if their intersection divided by their union exceeds this
            threshold.
        score_threshold: Boxes with lower scores are not selected.
        name: Name of the scope.

    Returns:
        The indices of the boxes, int32, with the highest score first.

    Raises:
        ValueError: If shapes do not match.
    """
    with name_scope(name, "non_max_suppression"):
        threshold = convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold")
        return chosen_boxes(boxes, scores, max_output_size, threshold, lowest)


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -math.inf,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Selects boxes like `non_max_suppression`, but can return a fixed number of indices.

    Args:
        boxes: float16 or float32, (boxes, 4): two opposite corners of each box, as y1, x1, y2, x2.
        scores: The score of each box.
        max_output_size: The maximum number of boxes to select, an int32 scalar.
        iou_threshold: Two boxes overlap if their intersection divided by their union exceeds this
            threshold.
        score_threshold: Boxes with lower scores are not selected.
        pad_to_max_output_size: Whether to pad the indices with zeros to `max_output_size`.
        name: Name of the scope.

    Returns:
        The indices of the boxes, int32, with the highest score first, and the number of boxes, an
        int32 scalar.

    Raises:
        ValueError: If shapes do not match.
    """
    with name_scope(name, "non_max_suppression_padded"):
        threshold = convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold")
        most = convert_to_tensor(max_output_size, dtypes.int32, name="max_output_size")
        return padded_boxes(boxes, scores, most, threshold, lowest, pad_to_max_output_size)


def padded_boxes(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Adds the `non_max_suppression_padded` operation."""
    is_padded = bool(pad_to_max_output_size)

    def infer(corners: Tensor, values: Tensor, limit: Tensor, *thresholds: Tensor) -> Outputs:
        _check_boxes(corners, values, limit, *thresholds)
        static = constant_value(limit) if is_padded else None
        length = None if static is None else int(static.item())
        if length is not None and length < 0:
            raise ShapeConflict(
                f"Dimension size, given by scalar input 2, must be non-negative but is {length}"
            )
        return [(dtypes.int32, vector(length)), (dtypes.int32, scalar())]

    def kernel(corners: Array, values: Array, limit: Array, *thresholds: Array) -> Sequence[Array]:
        indices = _choose(corners, values, limit, *thresholds)
        missing = int(limit) - len(indices) if is_padded else 0
        return np.pad(indices, (0, missing)), np.array(len(indices), np.int32)

    inputs = _inputs(boxes, scores, max_output_size, iou_threshold, score_threshold)
    attrs = {"pad_to_max_output_size": is_padded}
    op = apply_op("NonMaxSuppressionV4", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0], op.outputs[1]


def chosen_boxes(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Adds the `non_max_suppression` operation."""

    def infer(corners: Tensor, values: Tensor, *scalars: Tensor) -> Outputs:
        return _check_boxes(corners, values, *scalars)

    inputs = _inputs(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return apply_op("NonMaxSuppressionV3", inputs, infer, name=name, kernel=_choose).outputs[0]


def _inputs(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
) -> list[Input | InputList]:
    return [
        Input("boxes", boxes, allowed=_FLOATS),
        Input("scores", scores),
        Input("max_output_size", max_output_size, dtypes.int32),
        Input("iou_threshold", iou_threshold, var="T_threshold", allowed=_FLOATS),
        Input("score_threshold", score_threshold, var="T_threshold"),
    ]


def _check_boxes(corners: Tensor, values: Tensor, *scalars: Tensor) -> Outputs:
    check_rank(corners.shape, 2)
    static_shape = corners.shape.with_rank(2)
    if not static_shape[1].is_compatible_with(4):
        raise ShapeConflict(f"Dimension must be 4 but is {static_shape[1]}")
    return _chosen(static_shape[0].value, values, *scalars)


def _choose(corners: Array, values: Array, *scalars: Array) -> Array:
    if corners.ndim != 2:
        fail(f"boxes must be 2-D{bracketed(corners.shape)}")
    if corners.shape[1] != 4:
        fail("boxes must have 4 columns")
    bound = float(scalars[1].item())
    if not 0 <= bound <= 1:
        fail("iou_threshold must be in [0, 1]")
    ordered = np.concatenate(
        [np.minimum(corners[:, :2], corners[:, 2:]),
         np.maximum(corners[:, :2], corners[:, 2:])], axis=1)  # fmt: skip
    return _suppress(values, scalars, len(corners), lambda a, b: _iou(ordered, a, b))


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -math.inf,
    name: str | None = None,
) -> Tensor:
    """Selects boxes like `non_max_suppression`, using a table of their overlaps.

    Args:
        overlaps: float32, (boxes, boxes): the overlap of each pair of boxes.
        scores: The score of each box, float32.
        max_output_size: The maximum number of boxes to select, an int32 scalar.
        overlap_threshold: Two boxes overlap if their entry in the table exceeds this threshold.
        score_threshold: Boxes with lower scores are not selected.
        name: Name of the scope.

    Returns:
        The indices of the boxes, int32, with the highest score first.

    Raises:
        ValueError: If shapes do not match.
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        threshold = convert_to_tensor(overlap_threshold, dtypes.float32, name="overlap_threshold")
        return chosen_by_table(overlaps, scores, max_output_size, threshold, score_threshold)


def chosen_by_table(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike,
    score_threshold: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Adds the `non_max_suppression_overlaps` operation."""

    def infer(table: Tensor, values: Tensor, *scalars: Tensor) -> Outputs:
        check_rank(table.shape, 2)
        static_shape = table.shape.with_rank(2)
        return _chosen(static_shape[0].merge_with(static_shape[1]).value, values, *scalars)

    def kernel(table: Array, values: Array, *scalars: Array) -> Array:
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            fail(f"overlaps must be square{bracketed(table.shape)}")
        return _suppress(values, scalars, len(table), lambda a, b: float(table[a, b]))

    inputs = [
        Input("overlaps", overlaps, dtypes.float32),
        Input("scores", scores, dtypes.float32),
        Input("max_output_size", max_output_size, dtypes.int32),
        Input("overlap_threshold", overlap_threshold, dtypes.float32),
        Input("score_threshold", score_threshold, dtypes.float32),
    ]
    op_type = "NonMaxSuppressionWithOverlaps"
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


def _chosen(number: int | None, scores: Tensor, *scalars: Tensor) -> Outputs:
    """Checks the shapes of all inputs except the first one."""
    check_rank(scores.shape, 1)
    for tensor in scalars:
        check_rank(tensor.shape, 0)
    count = scores.shape.with_rank(1)[0]
    if not count.is_compatible_with(number):
        raise ShapeConflict(f"Dimensions must be equal, but are {number} and {count}")
    return [(dtypes.int32, vector(None))]


def _suppress(
    scores: Array, scalars: tuple[Array, ...], number: int, overlap: Callable[[int, int], float]
) -> Array:
    if scores.shape != (number,):
        fail(f"scores has incompatible shape: {bracketed(scores.shape)}, expected [{number}]")
    most, threshold, lowest = (scalar.item() for scalar in scalars)
    if most < 0:
        fail("max_output_size must be non-negative")
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    chosen: list[Any] = []
    for box in order[scores[order] > lowest].tolist():
        if len(chosen) >= most:
            break
        if all(overlap(box, other) <= threshold for other in reversed(chosen)):
            chosen.append(box)
    return np.array(chosen, dtype=np.int32)


def _iou(boxes: Array, first: int, second: int) -> float:
    """Returns the intersection of two boxes divided by their union, in single precision."""
    a, b = boxes[first].astype(np.float32), boxes[second].astype(np.float32)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    if areas[0] <= 0 or areas[1] <= 0:
        return 0.0
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), np.float32(0))
    shared = sides[0] * sides[1]
    return float(shared / (areas[0] + areas[1] - shared))


define("NonMaxSuppressionV3")
define("NonMaxSuppressionV4")
define("NonMaxSuppressionWithOverlaps")
