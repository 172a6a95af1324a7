"""The Levenshtein distance between sequences.

Source: `tf.edit_distance` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.folding import fold
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue

__all__ = ["edit_distance"]

_PARTS = ("indices", "values", "shape")


def edit_distance(
    hypothesis: SparseTensor | SparseTensorValue,
    truth: SparseTensor | SparseTensorValue,
    normalize: bool = True,
    name: str = "edit_distance",
) -> Tensor:
    """Returns the number of insertions, deletions and replacements between sequences.

    Args:
        hypothesis: Sequences along the last axis.
        truth: The reference sequences, as many as in `hypothesis` and of the same type.
        normalize: Whether to divide by the length of the true sequence. If the true sequence is
            empty, the result is infinite, or 0 if both are empty.
        name: Name of the operation.

    Returns:
        A float32 for each sequence.

    Raises:
        TypeError: If an argument is not a sparse tensor.
    """
    for what, operand in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(operand, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")

    return distance_of_parts(
        *(hypothesis.indices, hypothesis.values, hypothesis.dense_shape),
        *(truth.indices, truth.values, truth.dense_shape),
        normalize=normalize,
        name=name,
    )


def distance_of_parts(
    *parts: TensorLike, normalize: bool = True, name: str | None = None
) -> Tensor:
    """Adds the operation of `edit_distance`.

    Args:
        *parts: The indices, values and shape of the hypothesis, then the same three for the truth.
        normalize: See `edit_distance`.
        name: Name of the operation.
    """

    def infer(*tensors: Tensor) -> Outputs:
        sizes = [fold(tensors[index]) for index in (2, 5)]
        if sizes[0] is None or sizes[1] is None:
            rank = tensors[2].shape.num_elements() if tensors[2].shape.rank == 1 else None
            return [(dtypes.float32, unknown_shape(None if rank is None else rank - 1))]
        return [(dtypes.float32, TensorShape(np.maximum(sizes[0], sizes[1])[:-1].tolist()))]

    def kernel(*arrays: Array) -> Array:
        if arrays[2].shape != arrays[5].shape:
            fail("Expected hypothesis_shape and truth_shape to have matching shapes")
        groups = [_sequences(*arrays[:2]), _sequences(*arrays[3:5])]
        sizes = np.maximum(arrays[2], arrays[5])[:-1].tolist()
        check_array(sizes, np.dtype(np.float32))
        distances = np.zeros(sizes, dtype=np.float32)
        for key in groups[0].keys() | groups[1].keys():
            hypothesis_row, truth_row = (group.get(key, []) for group in groups)
            distance = float(_distance(hypothesis_row, truth_row))
            if normalize:
                distance = distance / len(truth_row) if truth_row else np.inf
            distances[key] = distance
        return distances

    names = [f"{prefix}_{what}" for prefix in ("hypothesis", "truth") for what in _PARTS]
    kinds = [dtypes.int64, None, dtypes.int64] * 2
    inputs = [Input(*part) for part in zip(names, parts, kinds, strict=True)]
    attrs = {"normalize": bool(normalize)}
    op = apply_op("EditDistance", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _sequences(indices: Array, values: Array) -> dict[tuple[int, ...], list[object]]:
    """Returns the elements of each sequence, by the index of the sequence."""
    sequences: dict[tuple[int, ...], list[object]] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        sequences.setdefault(tuple(index[:-1]), []).append(value)
    return sequences


def _distance(first: list[object], second: list[object]) -> int:
    costs = list(range(len(second) + 1))
    for row, item in enumerate(first, 1):
        diagonal, costs[0] = costs[0], row
        for column, other in enumerate(second, 1):
            replaced = diagonal + (item != other)
            diagonal = costs[column]
            costs[column] = min(replaced, diagonal + 1, costs[column - 1] + 1)
    return costs[-1]


define("EditDistance")
