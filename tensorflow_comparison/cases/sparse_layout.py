"""Sparse tensors in other shapes and with fewer elements."""

from typing import Any

import numpy as np

from tensorflow_comparison.sparse_parts import given, outcome
from tensorflow_comparison.table import case

PARTS: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [1, 0]], [5, 6], [2, 3]),
    ([[0, 2], [0, 0], [1, 1]], ["a", "b", "c"], [4, 3]),
    (np.zeros([0, 2], np.int64), np.zeros([0], np.float32), [2, 3]),
    ([[0, 0, 3], [1, 2, 0]], [0.5, 1.5], [2, 3, 4]),
    ([[2]], [True], [5]),
]


NEW_SHAPES = [None, [4, 3], [2, 3], [9, 9], [2, 3, 6], [1, 9], [5, 5, 5], [7], 7, [2.5, 3.5]]


@case(*[(number, new, is_fed) for number in range(len(PARTS)) for new in NEW_SHAPES
        for is_fed in (False, True)])  # fmt: skip
def reset_shape(tf: Any, number: int, new: Any, is_fed: bool) -> Any:
    """`sparse_reset_shape` to a larger, the smallest possible, and a too small shape."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    return outcome(tf, tf.sparse_reset_shape(sparse, new), fed, by_rank=new is None)


@case(*[(new, is_fed) for new in ([4, 3], [1, 9], [2, 3, 6]) for is_fed in (False, True)])
def reset_to_what_is_fed(tf: Any, new: Any, is_fed: bool) -> Any:
    """`sparse_reset_shape` with a shape that is only known at run time."""
    sparse, fed = given(tf, PARTS[0], is_fed)
    shape = tf.placeholder(tf.int64)
    return outcome(tf, tf.sparse_reset_shape(sparse, shape), {**fed, shape: new})


KEPT = [
    [True, False],
    [False, False],
    [True, False, True],
    [],
    [True],
    [[True, False]],
    True,
    [1, 0],
]


@case(*[(number, kept, is_fed) for number in range(len(PARTS)) for kept in KEPT
        for is_fed in (False, True)])  # fmt: skip
def retained(tf: Any, number: int, kept: Any, is_fed: bool) -> Any:
    """`sparse_retain` with some elements, and with wrong numbers of bools."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    kept = np.array(kept, bool) if kept == [] else kept
    return outcome(tf, tf.sparse_retain(sparse, kept), fed)


@case((3,), ("no",), ([[1]],))
def no_sparse_tensor(tf: Any, value: Any) -> Any:
    """Arguments that are not sparse tensors."""
    errors = []
    for call in (lambda: tf.sparse_retain(value, [True]), lambda: tf.sparse_reset_shape(value)):
        try:
            call()
        except TypeError as error:
            errors.append(str(error))
    return errors


PERMUTATIONS = [None, [1, 0], [0, 1], [0, 2, 1], [2, 0, 1], [0], [0, 0]]


@case(*[(number, perm, is_fed) for number in range(len(PARTS)) for perm in PERMUTATIONS
        for is_fed in (False, True)
        if perm is None or len(perm) == len(PARTS[number][2])])  # fmt: skip
def transposed(tf: Any, number: int, perm: Any, is_fed: bool) -> Any:
    """`sparse_transpose`."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    return outcome(tf, tf.sparse_transpose(sparse, perm), fed)


AXES = [None, 0, 1, -1, -2, -9, 9, "a", 0.5, np.int64(1), "tensor"]


def _expand(tf: Any, number: int, axis: Any, is_fed: bool) -> Any:
    sparse, fed = given(tf, PARTS[number], is_fed)
    axis = tf.constant(-2) if isinstance(axis, str) and axis == "tensor" else axis
    return outcome(tf, tf.sparse.expand_dims(sparse, axis), fed)


@case(*[(number, axis) for number in range(len(PARTS)) for axis in AXES])
def expanded(tf: Any, number: int, axis: Any) -> Any:
    """`sparse.expand_dims` for each axis."""
    return _expand(tf, number, axis, False)


@case(*[(number, axis) for number in range(len(PARTS)) for axis in (None, 0, -1, "tensor")])
def expanded_of_unknown_rank(tf: Any, number: int, axis: Any) -> Any:
    """`sparse.expand_dims` of tensors of unknown rank."""
    return _expand(tf, number, axis, True)


DENSE: list[Any] = [
    [0, 0, 3, 0, 1], [[0.5, 0.0], [0.0, -1.0]], ["", "a"], [False, True], [0, 0], [[]],
    np.zeros([2, 0, 3], np.int64), [float("nan"), 0.0],
]  # fmt: skip


@case(*[(value, is_fed) for value in DENSE for is_fed in (False, True)])
def from_dense(tf: Any, value: Any, is_fed: bool) -> Any:
    """`sparse.from_dense`: the nonzero elements."""
    if not is_fed:
        return outcome(tf, tf.sparse.from_dense(value), {})
    fed = tf.placeholder(tf.convert_to_tensor(value).dtype)
    return outcome(tf, tf.sparse.from_dense(fed), {fed: value})


@case()
def names(tf: Any) -> Any:
    """The scopes of operations that have one."""
    sparse = tf.SparseTensor([[0, 1]], [5], [2, 3])
    dense = tf.sparse.from_dense([0, 3])
    return (
        tf.sparse_transpose(sparse).values.name,
        tf.sparse.expand_dims(sparse, 0).indices.name.split("/")[0],
        dense.indices.name.split("/")[0],
    )


@case(*[(number,) for number in range(7)])
def values_of_sparse_tensors(tf: Any, number: int) -> Any:
    """The value of a sparse tensor instead of the tensor."""
    value = tf.SparseTensorValue([[0, 1], [1, 0]], [5, 6], [2, 3])
    return [
        lambda: tf.sparse_retain(value, [True, False]),
        lambda: tf.sparse_reset_shape(value, [4, 4]),
        lambda: tf.sparse_reorder(value),
        lambda: tf.sparse_tensor_to_dense(value),
        lambda: tf.sparse_to_indicator(value, 9),
        lambda: tf.sparse_merge(value, value, 9),
        lambda: tf.serialize_sparse(value),
    ][number]()
