"""`tf.nn`, with the names and arguments from TensorFlow 1.

Source: `tf.nn.softmax_cross_entropy_with_logits` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "log_softmax",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]


def log_softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Calls `ops.log_softmax`. Also accepts `dim`, the old name of `axis`.

    Raises:
        ValueError: If both names are given, or `logits` is a scalar.
        InvalidArgumentError: If the axis does not exist.
    """
    return ops.log_softmax(logits, only_one("axis", axis, "dim", dim), name)


def softmax_cross_entropy_with_logits(
    _sentinel: object = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Calls `ops.softmax_cross_entropy_with_logits`. Arguments must be passed by name.

    Raises:
        ValueError: If an argument is missing or passed by position, or shapes do not match.
    """
    truth, numbers = _named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    chosen = dim if axis is None else axis
    return ops.softmax_cross_entropy_with_logits(truth, numbers, chosen, name)


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Calls `ops.softmax_cross_entropy_with_logits`. Also accepts `dim`, the old name of `axis`.

    Raises:
        ValueError: If both names are given, `labels` or `logits` is None, or shapes do not match.
    """
    chosen = only_one("axis", axis, "dim", dim)
    truth, numbers = _named("softmax_cross_entropy_with_logits", None, labels, logits)
    return ops.softmax_cross_entropy_with_logits(
        truth, numbers, -1 if chosen is None else chosen, name
    )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: object = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.sparse_softmax_cross_entropy_with_logits`. Arguments must be passed by name.

    Raises:
        ValueError: If an argument is missing or passed by position, or shapes do not match.
    """
    truth, numbers = _named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return ops.sparse_softmax_cross_entropy_with_logits(truth, numbers, name)


def sigmoid_cross_entropy_with_logits(
    _sentinel: object = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.sigmoid_cross_entropy_with_logits`. Arguments must be passed by name.

    Raises:
        ValueError: If an argument is missing or passed by position, or shapes differ.
    """
    truth, numbers = _named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    return ops.sigmoid_cross_entropy_with_logits(truth, numbers, name)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.weighted_cross_entropy_with_logits`. Accepts `targets`, the old name of `labels`.

    Raises:
        ValueError: If both names are given, an argument is missing, or shapes differ.
    """
    truth = only_one("labels", labels, "targets", targets)
    if truth is None or logits is None or pos_weight is None:
        raise ValueError("labels, logits and pos_weight must be provided.")
    return ops.weighted_cross_entropy_with_logits(truth, logits, pos_weight, name)


def _named(
    what: str, sentinel: object, labels: TensorLike | None, logits: TensorLike | None
) -> tuple[TensorLike, TensorLike]:
    """Checks that labels and logits were both passed by name, and returns them."""
    if sentinel is not None:
        raise ValueError(f"Only call `{what}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    return labels, logits
