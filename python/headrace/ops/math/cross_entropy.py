"""Cross-entropy losses for predictions (logits).

Source: `tf.nn.softmax_cross_entropy_with_logits_v2`, `sparse_softmax_cross_entropy_with_logits`,
`sigmoid_cross_entropy_with_logits`, `weighted_cross_entropy_with_logits` and `log_poisson_loss` of
TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import ones_like, zeros_like
from headrace.ops.array.join import concat
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape
from headrace.ops.array.transpose import order_with_last, transpose
from headrace.ops.array.where import where
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS, INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, broadcast_shapes, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import (
    abs as absolute,
)
from headrace.ops.math.arithmetic import (
    add,
    exp,
    log,
    log1p,
    multiply,
    negative,
    subtract,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import greater_equal, less_equal, logical_and
from headrace.ops.math.nn import relu

__all__ = [
    "log_poisson_loss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of `softmax(logits)` for each example.

    Args:
        labels: The probability of each class, with the shape of `logits`.
        logits: One floating-point number per class.
        axis: The axis of the classes.
        name: Name of the operation.

    Returns:
        A tensor without the axis of the classes.

    Raises:
        ValueError: If the shapes do not match.
    """
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        numbers = convert_to_tensor(logits, name="logits")
        dtype = numbers.dtype.base_dtype
        is_half = dtype == dtypes.float16
        precise = cast(numbers, dtypes.float32) if is_half else numbers
        truth = convert_to_tensor(labels, name="labels")
        if truth.dtype.base_dtype != precise.dtype.base_dtype:
            truth = cast(truth, precise.dtype.base_dtype)
        static_shape = numbers.shape
        if axis != -1:
            precise, truth = _last(precise, axis), _last(truth, axis)
        sizes = shape(precise)
        flat = softmax_losses(_rows_of(precise), _rows_of(truth), scope)
        result = reshape(flat, sizes[:-1])
        if static_shape.rank is not None:
            left = static_shape.as_list()
            del left[axis]
            result.set_shape(TensorShape(left))
        return cast(result, dtype) if is_half else result


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of `softmax(logits)` for each example, given its class.

    Args:
        labels: The class of each example, int32 or int64.
        logits: One floating-point number per class, along the last axis.
        name: Name of the operation.

    Returns:
        A tensor with the shape of `labels`.

    Raises:
        InvalidArgumentError: At run time, if a class is out of range.
        ValueError: If the shapes do not match.
    """
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        truth, numbers = convert_to_tensor(labels), convert_to_tensor(logits)
        dtype = numbers.dtype.base_dtype
        precise = cast(numbers, dtypes.float32) if dtype == dtypes.float16 else numbers
        label_shape, logits_shape = truth.shape, numbers.shape
        if logits_shape.rank == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits_shape}.")
        if (
            None not in (logits_shape.rank, label_shape.rank)
            and label_shape.rank != (logits_shape.rank or 0) - 1
        ):
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {label_shape.rank}) should equal rank of "
                f"logits minus 1 (received {logits_shape.rank})."
            )
        if logits_shape.rank is not None and not label_shape.is_compatible_with(logits_shape[:-1]):
            raise ValueError(
                f"Shape mismatch: The shape of labels (received {label_shape}) should equal the "
                f"shape of logits except for the last dimension (received {logits_shape})."
            )
        if logits_shape.rank == 2:
            result = sparse_softmax_losses(precise, truth, name)
        else:
            result = sparse_softmax_losses(_rows_of(precise), reshape(truth, [-1]), name)
            result = reshape(result, shape(truth))
            result.set_shape(label_shape)
        return cast(result, dtype) if dtype == dtypes.float16 else result


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of `sigmoid(logits)` for each element.

    Args:
        labels: The probabilities, with the shape of `logits`.
        logits: A floating-point tensor.
        name: Name of the operation.

    Raises:
        ValueError: If the shapes differ.
    """
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        numbers = convert_to_tensor(logits, name="logits")
        truth = convert_to_tensor(labels, name="labels", dtype_hint=numbers.dtype.base_dtype)
        _check_equal_shapes("logits and labels", numbers, truth)
        zeros = zeros_like(numbers, dtype=numbers.dtype)
        is_positive = greater_equal(numbers, zeros)
        positive = where(is_positive, numbers, zeros)
        minus_size = where(is_positive, negative(numbers), numbers)
        linear = subtract(positive, multiply(numbers, truth))
        return add(linear, log1p(exp(minus_size)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of `sigmoid(logits)`, with a weight for positive labels.

    Args:
        labels: The probabilities, with the shape of `logits`.
        logits: A floating-point tensor.
        pos_weight: The weight of positive labels.
        name: Name of the operation.

    Raises:
        ValueError: If the shapes differ.
    """
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        numbers = convert_to_tensor(logits, name="logits")
        truth = convert_to_tensor(labels, name="labels", dtype_hint=numbers.dtype.base_dtype)
        _check_equal_shapes("logits and labels", numbers, truth)
        weight = 1 + multiply(pos_weight - convert_to_tensor(1.0, numbers.dtype), truth)
        rest = add(log1p(exp(negative(absolute(numbers)))), relu(negative(numbers)))
        return add(multiply(1 - truth, numbers), multiply(weight, rest), name=scope)


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the negative Poisson log likelihood of each element.

    Args:
        targets: The counts.
        log_input: The logarithm of the expected counts, of the same shape.
        compute_full_loss: If True, adds an approximation of the logarithm of the factorial.
        name: Name of the operation.

    Raises:
        ValueError: If the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]) as scope:
        logarithm = convert_to_tensor(log_input, name="log_input")
        counts = convert_to_tensor(targets, name="targets")
        _check_equal_shapes("log_input and targets", logarithm, counts)
        loss = subtract(exp(logarithm), multiply(logarithm, counts))
        if not compute_full_loss:
            return add(loss, 0, name=scope)
        half = convert_to_tensor(0.5, counts.dtype)
        circle = convert_to_tensor(2 * math.pi, counts.dtype)
        stirling = add(
            subtract(multiply(counts, log(counts)), counts),
            multiply(half, log(multiply(circle, counts))),
        )
        zeros, ones = zeros_like(counts, counts.dtype), ones_like(counts, counts.dtype)
        is_small = logical_and(greater_equal(counts, zeros), less_equal(counts, ones))
        return add(loss, where(is_small, zeros, stirling), name=scope)


def softmax_losses(logits: Tensor, labels: Tensor, name: str | None = None) -> Tensor:
    """Adds the `softmax_cross_entropy_with_logits` operation, for matrices."""

    def infer(x: Tensor, y: Tensor) -> Outputs:
        result_shape = broadcast_shapes(x.shape, y.shape)
        check_rank(result_shape, 2)
        dtype = x.dtype.base_dtype
        batch = result_shape[:1] if result_shape.rank is not None else TensorShape([None])
        return [(dtype, batch), (dtype, result_shape)]

    def kernel(x: Array, y: Array) -> tuple[Any, Any]:
        try:
            sizes = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            fail(
                f"logits and labels must be broadcastable: logits_size={bracketed(x.shape)} "
                f"labels_size={bracketed(y.shape)}"
            )
        x, y = np.broadcast_to(x, sizes), np.broadcast_to(y, sizes)
        shifted = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
        powers = np.exp(shifted)
        sums = np.sum(powers, axis=-1, keepdims=True)
        losses = np.sum(y * (np.log(sums) - shifted), axis=-1, dtype=x.dtype)
        return losses, powers / sums - y

    inputs = [Input("features", logits, allowed=FLOATS), Input("labels", labels)]
    op_type = "SoftmaxCrossEntropyWithLogits"
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


def sparse_softmax_losses(logits: Tensor, labels: Tensor, name: str | None = None) -> Tensor:
    """Adds the `sparse_softmax_cross_entropy_with_logits` operation, for a matrix."""

    def infer(x: Tensor, y: Tensor) -> Outputs:
        check_rank(x.shape, 2)
        check_rank(y.shape, 1)
        rows, batch = x.shape.with_rank(2), y.shape.with_rank(1)
        if not rows[0].is_compatible_with(batch[0]):
            raise ShapeConflict(f"Dimensions must be equal, but are {rows[0]} and {batch[0]}")
        size = rows[0].merge_with(batch[0])
        dtype = x.dtype.base_dtype
        return [(dtype, TensorShape([size])), (dtype, TensorShape([size, rows[1]]))]

    def kernel(x: Array, y: Array) -> tuple[Any, Any]:
        if len(x) != len(y):
            fail(
                f"logits and labels must have the same first dimension, got logits shape "
                f"{bracketed(x.shape)} and labels shape {bracketed(y.shape)}"
            )
        count = x.shape[1]
        if len(x) and not count:
            fail(f"Must have at least one class, but got logits shape {bracketed(x.shape)}")
        wrong = y[(y < 0) | (y >= count)]
        if wrong.size:
            fail(
                f"Received a label value of {wrong[0]} which is outside the valid range of "
                f"[0, {count}).  Label values: {' '.join(map(str, y.tolist()))}"
            )
        shifted = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
        powers = np.exp(shifted)
        sums = np.sum(powers, axis=-1, keepdims=True)
        rows = np.arange(len(x))
        backwards = powers / sums
        backwards[rows, y] -= 1
        return np.log(sums)[:, 0] - shifted[rows, y], backwards

    inputs = [
        Input("features", logits, allowed=FLOATS),
        Input("labels", labels, var="Tlabels", allowed=INDEX_TYPES),
    ]
    op_type = "SparseSoftmaxCrossEntropyWithLogits"
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


def _rows_of(tensor: Tensor) -> Tensor:
    """Reshapes a tensor to a matrix whose rows are the slices along the last axis."""
    return (
        tensor if tensor.shape.rank == 2 else reshape(tensor, concat([[-1], shape(tensor)[-1:]], 0))
    )


def _last(tensor: Tensor, axis: int) -> Tensor:
    """Swaps an axis of a tensor with the last axis."""
    return transpose(tensor, order_with_last(tensor, axis))


def _check_equal_shapes(what: str, x: Tensor, y: Tensor) -> None:
    try:
        x.shape.merge_with(y.shape)
    except ValueError:
        raise ValueError(f"{what} must have the same shape ({x.shape} vs {y.shape})") from None


define("SoftmaxCrossEntropyWithLogits")
define("SparseSoftmaxCrossEntropyWithLogits")
