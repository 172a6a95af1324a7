"""Compares predicted classes with labels. An example may have several labels.

Source: `tf.metrics.precision_at_k` and similar functions in TensorFlow 1.15, for each example.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.kernel import Array, fail

__all__ = ["NO_LABEL", "average_precision_of", "matches_at_k"]

# Pads rows of labels to the same length.
NO_LABEL: Final = -(2**63)


def matches_at_k(
    labels: Tensor, predictions: Tensor, class_id: int | None = None, name: str | None = None
) -> list[Tensor]:
    """Counts the correct predictions, the wrong predictions and the missed labels of each example.

    Args:
        labels: The labels of each example along the last axis, padded with `NO_LABEL`.
        predictions: The predicted classes of each example, along the last axis.
        class_id: The only class to consider. Defaults to all classes.
        name: Name of the operation.
    """

    def kernel(truth: Array, guesses: Array) -> tuple[Array, Array, Array]:
        counts = np.zeros((3, len(guesses.reshape(-1, guesses.shape[-1]))))
        for row, (guessed, truth_row) in enumerate(_rows(truth, guesses)):
            chosen, relevant = set(guessed), set(truth_row) - {NO_LABEL}
            if class_id is not None:
                chosen, relevant = chosen & {class_id}, relevant & {class_id}
            counts[:, row] = len(chosen & relevant), len(chosen - relevant), len(relevant - chosen)
        right, wrong, missed = counts.reshape(3, *guesses.shape[:-1])
        return right, wrong, missed

    attrs = {} if class_id is None else {"class_id": class_id}
    return _made("MatchesAtK", labels, predictions, 3, kernel, name, attrs)


def average_precision_of(labels: Tensor, predictions: Tensor, name: str | None = None) -> Tensor:
    """Returns the average precision of each example.

    Args:
        labels: The labels of each example along the last axis, padded with `NO_LABEL`.
        predictions: The predicted classes of each example along the last axis, the likeliest first.
        name: Name of the operation.
    """

    def kernel(truth: Array, guesses: Array) -> Array:
        results = []
        for guessed, truth_row in _rows(truth, guesses):
            relevant = set(truth_row) - {NO_LABEL}
            is_right = np.array([item in relevant for item in guessed], dtype=np.float64)
            precisions = np.cumsum(is_right) / np.arange(1, len(guessed) + 1)
            number = len(truth_row) - truth_row.count(NO_LABEL)
            results.append(np.divide(np.sum(precisions * is_right), min(number, len(guessed))))
        return np.array(results).reshape(guesses.shape[:-1])

    return _made("AveragePrecisionAtK", labels, predictions, 1, kernel, name, {})[0]


def _made(
    op_type: str,
    labels: Tensor,
    predictions: Tensor,
    num: int,
    kernel: Any,
    name: str | None,
    attrs: dict[str, Any],
) -> list[Tensor]:
    def infer(_truth: Tensor, guesses: Tensor) -> Outputs:
        has_rank = guesses.shape.rank is not None
        return [(dtypes.float64, guesses.shape[:-1] if has_rank else guesses.shape)] * num

    def checked(truth: Array, guesses: Array) -> Any:
        if truth.shape[:-1] != guesses.shape[:-1]:
            fail(
                f"labels have shape {truth.shape}, but the dimensions before the last must be "
                f"{guesses.shape[:-1]}, as in predictions. Pass labels for each example."
            )
        return kernel(truth, guesses)

    inputs = [
        Input("labels", labels, dtypes.int64),
        Input("predictions", predictions, dtypes.int64),
    ]
    op = apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=checked)
    return op.outputs


def _rows(truth: Array, guesses: Array) -> zip[tuple[list[int], list[int]]]:
    """Returns the predicted classes and the labels of each example."""
    guess_rows = guesses.reshape(-1, guesses.shape[-1]).tolist()
    truth_rows = truth.reshape(len(guess_rows), -1).tolist()
    return zip(guess_rows, truth_rows, strict=True)


define("AveragePrecisionAtK")
define("MatchesAtK")
