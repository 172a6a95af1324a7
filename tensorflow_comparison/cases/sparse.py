"""Sparse tensors: creating, feeding, and converting to dense ones."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case

PARTS: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [1, 0]], [5, 6], [2, 3]),
    (np.zeros([0, 2], np.int64), np.zeros([0], np.int32), [2, 3]),
    ([[0]], ["a"], [3]),
    ([[1, 0], [0, 1]], [5, 6], [2, 3]),
    ([[0, 1], [0, 1]], [5, 6], [2, 3]),
    ([[0, 3]], [5], [2, 3]),
    ([[0, -1]], [5], [2, 3]),
    ([[0, 1]], [5, 6], [2, 3]),
    ([0, 1], [5, 6], [2]),
    ([[0, 1]], [5], [2]),
    ([[0, 1]], [[5]], [2, 3]),
    ([[0.5, 1]], [5], [2, 3]),
    ([[0, 1]], [5], [[2, 3]]),
    ([[0, 1, 1]], [5.0], [2, 3, 4]),
]


@case(*PARTS)
def made(tf: Any, indices: Any, values: Any, dense_shape: Any) -> Any:
    """A sparse tensor, and its static shape."""
    sparse = tf.SparseTensor(indices, values, dense_shape)
    return sparse, sparse.dtype.name, str(sparse.get_shape()), sparse.indices.name


@case(*[(*parts, default, validate) for parts in PARTS[:9] for default, validate in
        ((None, True), (7, True), ("x", True), (7, False))])  # fmt: skip
def dense(
    tf: Any, indices: Any, values: Any, dense_shape: Any, default: Any, validate: bool
) -> Any:
    """`sparse_tensor_to_dense` with and without checks."""
    if not validate and np.min(indices, initial=0) < 0:
        return "not defined"
    sparse = tf.SparseTensor(indices, values, dense_shape)
    return tf.sparse_tensor_to_dense(sparse, default, validate_indices=validate)


@case(
    (1, [3], 5, 0),
    ([1, 2], [3], 5, 0),
    ([1, 2], [3], [5, 6], -1),
    ([[0, 1], [1, 1]], [2, 2], [5, 6], 0),
    ([[0, 1], [1, 1]], [2, 2], 5, 0),
    ([2, 1], [3], [5, 6], 0),
    ([1, 1], [3], [5, 6], 0),
    ([3], [3], [5], 0),
    ([1], [3], [5, 6], 0),
    ([1], [3], [0.5], 0.0),
    ([1], [3], ["a"], "b"),
    ([1], [3], [5], 0.5),
    ([[1]], [3, 3], [5], 0),
)
def from_parts(tf: Any, indices: Any, shape: Any, values: Any, default: Any) -> Any:
    """`sparse_to_dense`."""
    return tf.sparse_to_dense(indices, shape, values, default)


@case(*[(shape, number) for shape in (None, [2, 3]) for number in range(4)])
def fed(tf: Any, shape: Any, number: int) -> Any:
    """Values for a sparse placeholder."""
    tensor = tf.sparse_placeholder(tf.int32, shape, name="given")
    value = [
        tf.SparseTensorValue([[0, 1]], [5], [2, 3]),
        ([[0, 1]], [5], [2, 3]),
        tf.SparseTensorValue([[0, 1, 1]], [5], [2, 3, 4]),
        tf.SparseTensorValue([[0, 1]], [5], [4, 3]),
    ][number]
    expected = str(tensor.get_shape()), tensor.indices.name, str(tensor.indices.shape)
    with tf.Session() as session:
        return expected, session.run(tensor, {tensor: value})


@case()
def fed_with_a_list(tf: Any) -> Any:
    """A list that does not consist of indices, values and a shape."""
    tensor = tf.sparse_placeholder(tf.int32)
    with tf.Session() as session:
        return session.run(tensor, {tensor: [[5]]})


@case(([None, 3],), ([None, None],))
def partly_known(tf: Any, shape: Any) -> Any:
    """The static properties of a sparse placeholder with an unknown size."""
    return str(tf.sparse_placeholder(tf.int32, shape).get_shape())


IDS = [[0, 0], [0, 1], [2, 0]]


@case(
    ([2, 0, 1], 3), ([2, 2, 1], 3), ([2, 0, 1], np.int64(4)), ([0, 3, 1], 3), ([0, -1, 1], 3),
    ([0.5, 1.0, 2.0], 3), ([], 3),
)  # fmt: skip
def ids_as_indicators(tf: Any, ids: Any, size: Any) -> Any:
    """`sparse_to_indicator`: the IDs in each row."""
    values = np.array(ids) if ids else np.zeros([0], np.int64)
    sparse = tf.SparseTensor(np.reshape(IDS[: len(ids)], [-1, 2]), values, [3, 2])
    result = tf.sparse_to_indicator(sparse, size)
    with tf.Session() as session:
        return str(result.shape), session.run(result)


@case((3, False), (3, True), ("tensor", False), ([3, 4], False), ([3], False), ([3, 4, 5], False))
def merged_by_ids(tf: Any, sizes: Any, already_sorted: bool) -> Any:
    """`sparse_merge` of IDs and values, for one or several vocabularies."""

    def sparse(values: Any) -> Any:
        return tf.SparseTensor(IDS, values, [3, 2])

    first, second = sparse([2, 0, 1]), sparse(np.array([3, 1, 0], np.int32))
    ids = first if not isinstance(sizes, list) else [first, second]
    sizes = tf.constant(3) if sizes == "tensor" else sizes
    result = tf.sparse_merge(ids, sparse([0.5, 1.5, 2.5]), sizes, None, already_sorted)
    with tf.Session() as session:
        return str(result.indices.shape), session.run(result)
