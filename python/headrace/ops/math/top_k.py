"""Finding the k largest elements in each row.

Source: `tf.nn.top_k` and `tf.nn.in_top_k` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed, unknown_shape, vector
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES, REALS
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["in_top_k", "top_k"]


class TopKV2(NamedTuple):
    """The result of `top_k`.

    Attributes:
        values: The largest elements of each row.
        indices: The positions of these elements in the row, int32.
    """

    values: Tensor
    indices: Tensor


def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None
) -> TopKV2:
    """Returns the k largest elements along the last axis. Equal elements keep their order.

    Args:
        input: The tensor.
        k: The number of elements to find, an int32 scalar.
        sorted: Has no effect: the largest element always comes first.
        name: Name of the operation.

    Returns:
        The elements and their positions.

    Raises:
        InvalidArgumentError: At run time, if the rows are too short.
        ValueError: If `k` is negative or the rows are known to be too short.
    """

    def infer(tensor: Tensor, count: Tensor) -> Outputs:
        check_rank(count.shape, 0)
        number, shape = fold_scalar(count), tensor.shape
        if shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        if number is not None and number < 0:
            raise ShapeConflict(
                f"Dimension size, given by scalar input 1, must be non-negative but is {number}"
            )
        if shape.rank is None:
            result_shape = unknown_shape()
        else:
            size = shape[-1].value
            if number is not None and size is not None and size < number:
                raise ShapeConflict(f"input must have last dimension >= k = {number} but is {size}")
            result_shape = shape[:-1].concatenate([number])
        return [(tensor.dtype.base_dtype, result_shape), (dtypes.int32, result_shape)]

    def kernel(array: Array, count: Array) -> tuple[Array, Array]:
        number = int(count.item())
        if number < 0:
            fail(f"Need k >= 0, got {number}")
        if array.ndim < 1:
            fail(f"input must be >= 1-D, got shape {bracketed(array.shape)}")
        if array.shape[-1] < number:
            fail(f"input must have at least k columns. Had {array.shape[-1]}, needed {number}")
        keys = np.where(np.isnan(array), -np.inf, array) if array.dtype.kind == "f" else array
        # Reversing a stable sort puts the first of several equal elements last.
        order = np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        indices = array.shape[-1] - 1 - order[..., :number]
        return np.take_along_axis(array, indices, axis=-1), indices

    inputs = [Input("input", input, allowed=REALS), Input("k", k, dtypes.int32)]
    attrs = {"sorted": sorted}
    return TopKV2(*apply_op("TopKV2", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs)


def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Returns whether the prediction for the target is among the k largest, for each row.

    Args:
        predictions: float32, (batch, classes): one row per example and one column per class.
        targets: The class of each example, an integer vector.
        k: The number of largest predictions to consider. Ties with the smallest of them also count.
        name: Name of the operation.

    Returns:
        One bool per example. It is False if the class does not exist or a relevant prediction is
        not finite.
    """

    def infer(rows: Tensor, classes: Tensor, count: Tensor) -> Outputs:
        check_rank(rows.shape, 2)
        check_rank(classes.shape, 1)
        check_rank(count.shape, 0)
        batch = unknown_shape(2) if rows.shape.rank is None else rows.shape
        size = classes.shape.with_rank(1)[0]
        if not batch[0].is_compatible_with(size):
            raise ShapeConflict(f"Dimensions must be equal, but are {batch[0]} and {size}")
        return [(dtypes.bool, vector(batch[0].merge_with(size).value))]

    def kernel(rows: Array, classes: Array, count: Array) -> Any:
        if rows.ndim != 2:
            fail("predictions must be 2-dimensional")
        if classes.ndim != 1:
            fail("targets must be 1-dimensional")
        if len(rows) != len(classes):
            fail(
                f"First dimension of predictions {len(rows)} must match length of targets "
                f"{len(classes)}"
            )
        exists = (classes >= 0) & (classes < rows.shape[1])
        targets = rows[np.arange(len(rows)), np.where(exists, classes, 0)]
        num_larger = (rows > targets[:, None]).sum(axis=1)
        return exists & np.isfinite(rows).all(axis=1) & (num_larger < count)

    inputs = [
        Input("predictions", predictions, dtypes.float32),
        Input("targets", targets, allowed=INDEX_TYPES),
        Input("k", k, var="T"),
    ]
    return apply_op("InTopKV2", inputs, infer, name=name, kernel=kernel).outputs[0]


define("InTopKV2")
define("TopKV2")
