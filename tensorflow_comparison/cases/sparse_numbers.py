"""Arithmetic with sparse tensors."""

from typing import Any

import numpy as np

from tensorflow_comparison.sparse_parts import given, outcome
from tensorflow_comparison.table import case

PARTS: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [1, 0]], [5, 6], [2, 3]),
    ([[0, 1], [1, 2]], [-5, 20], [2, 3]),
    (np.zeros([0, 2], np.int64), np.zeros([0], np.int32), [2, 3]),
    ([[0, 0], [2, 1]], [1, 2], [3, 3]),
    ([[1]], [7], [3]),
    ([[0, 0]], [0.5], [2, 3]),
]
MATRIX = ([[0, 0], [0, 2], [1, 1], [3, 0], [3, 3]], [1, 2, -3, 4, 5], [4, 5])
FLOATS = (MATRIX[0], np.array(MATRIX[1], np.float32), MATRIX[2])
CUBE = ([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]], [1.5, 2.5, -3.0, 4.0], [2, 2, 3])


@case(*[(one, other, threshold, is_fed) for one in range(6) for other in range(6)
        for threshold in (None, 0, 11, 0.5) for is_fed in (False, True)
        if one == 0 or other == 0])  # fmt: skip
def added(tf: Any, one: int, other: int, threshold: Any, is_fed: bool) -> Any:
    """`sparse_add` of two."""
    (first, fed), (second, more) = given(tf, PARTS[one], is_fed), given(tf, PARTS[other], is_fed)
    return outcome(tf, tf.sparse_add(first, second, threshold), {**fed, **more})


@case(*[(values, threshold) for values in ([0.5, -0.25], [np.nan, 0.0], [3 + 4j, 1j], ["a", "b"],
                                           [True, True], [np.inf, -np.inf])
        for threshold in (None, 0.5, 5)])  # fmt: skip
def added_types(tf: Any, values: Any, threshold: Any) -> Any:
    """`sparse_add` of other types."""
    one = tf.SparseTensor([[0], [1]], values, [3])
    return tf.sparse_add(one, tf.SparseTensor([[0]], values[:1], [3]), threshold)


@case(*[(number,) for number in range(9)])
def added_otherwise(tf: Any, number: int) -> Any:
    """`sparse_add` of dense tensors and other values, and old argument names."""
    one, ones = tf.SparseTensor(*PARTS[0]), np.ones([2, 3], np.int32)
    twice = tf.SparseTensor([[0, 1], [0, 1]], [5, 7], [2, 3])
    return [
        lambda: tf.sparse_add(one, ones),
        lambda: tf.sparse_add(ones, one, threshold=3),
        lambda: tf.sparse_add(tf.SparseTensorValue(*PARTS[0]), one),
        lambda: tf.sparse_add(one, np.ones([2, 4], np.int32)),
        lambda: tf.sparse_add(one, np.ones([3], np.int32)),
        lambda: tf.sparse_add(one, ones.astype(np.float32)),
        lambda: tf.sparse_add([1], [2]),
        lambda: tf.sparse_add(one, one, threshold=1, thresh=1),
        lambda: tf.sparse_add(twice, ones),
    ][number]()


@case(*[(kind, one, other, is_fed) for kind in ("maximum", "minimum") for one in range(6)
        for other in range(6) for is_fed in (False, True) if one == 0 or other == 0])  # fmt: skip
def extremes(tf: Any, kind: str, one: int, other: int, is_fed: bool) -> Any:
    """`sparse_maximum` and `sparse_minimum`."""
    (first, fed), (second, more) = given(tf, PARTS[one], is_fed), given(tf, PARTS[other], is_fed)
    return outcome(tf, getattr(tf, f"sparse_{kind}")(first, second), {**fed, **more})


@case(*[(kind, values) for kind in ("maximum", "minimum")
        for values in ([np.nan, 1.0], [2.0, np.nan], ["a", "b"], [True, True])])  # fmt: skip
def extremes_of_types(tf: Any, kind: str, values: Any) -> Any:
    """`sparse_maximum` and `sparse_minimum` of other types."""
    one = tf.SparseTensor([[0], [1]], values, [3])
    return getattr(tf, f"sparse_{kind}")(one, tf.SparseTensor([[0]], values[1:], [3]))


KINDS = ["reduce_sum", "reduce_max", "reduce_sum_sparse", "reduce_max_sparse"]
AXES = [None, 0, 1, -1, [0, 1], [-1, 0], [0, 0], [], 0.5, [0, 2]]


@case(*[(kind, parts, axis, keep, is_fed) for kind in KINDS for parts in (MATRIX, CUBE, PARTS[2])
        for axis in AXES for keep in (None, True) for is_fed in (False, True)
        if axis != [0, 2] or parts is CUBE])  # fmt: skip
def reduced(tf: Any, kind: str, parts: Any, axis: Any, keep: Any, is_fed: bool) -> Any:
    """`sparse_reduce_sum` and similar functions."""
    sparse, fed = given(tf, parts, is_fed)
    result = getattr(tf, f"sparse_{kind}")(sparse, axis, keep)
    if isinstance(result, tf.SparseTensor):
        return outcome(tf, result, fed)
    with tf.Session() as session:
        return str(result.shape), session.run(result, fed)


@case(*[(kind, axis) for kind in KINDS for axis in (2, -3, [[0, 1]])])
def reduced_over_no_axis(tf: Any, kind: str, axis: Any) -> Any:
    """Axes that do not exist."""
    return getattr(tf, f"sparse_{kind}")(tf.SparseTensor(*MATRIX), axis)


@case(*[(kind, number) for kind in KINDS for number in range(7)])
def reduced_otherwise(tf: Any, kind: str, number: int) -> Any:
    """Old argument names, other types, and unordered elements."""
    reduce, sparse = getattr(tf, f"sparse_{kind}"), tf.SparseTensor(*MATRIX)
    return [
        lambda: reduce(sparse, reduction_axes=1, keep_dims=True),
        lambda: reduce(sparse, axis=1, reduction_axes=1),
        lambda: reduce(sparse, keepdims=True, keep_dims=True),
        lambda: reduce(tf.SparseTensor([[0, 1]], ["a"], [2, 3])),
        lambda: reduce(tf.SparseTensor([[0, 1]], [1j], [2, 3]), 1),
        lambda: reduce(tf.SparseTensorValue(*MATRIX), 1),
        lambda: reduce(tf.SparseTensor([[1, 0], [0, 1], [1, 1]], [5, 6, 7], [2, 3]), 1),
    ][number]()


DENSE = np.arange(10, dtype=np.float32).reshape(5, 2)


@case(*[(b, adjoint_a, adjoint_b, is_fed) for adjoint_a in (False, True)
        for adjoint_b in (False, True) for is_fed in (False, True)
        for b in (DENSE, DENSE.T, DENSE[:4], DENSE[:4].T, DENSE[0], DENSE.astype(np.float64))
        ])  # fmt: skip
def multiplied(tf: Any, b: Any, adjoint_a: bool, adjoint_b: bool, is_fed: bool) -> Any:
    """`sparse_tensor_dense_matmul`."""
    sparse, fed = given(tf, FLOATS, is_fed)
    product = tf.sparse_tensor_dense_matmul(sparse, b, adjoint_a, adjoint_b)
    with tf.Session() as session:
        return str(product.shape), product.name, session.run(product, fed)


@case(*[(adjoint_a, adjoint_b) for adjoint_a in (False, True) for adjoint_b in (False, True)])
def multiplied_from_behind(tf: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    """`sparse_tensor_dense_matmul` of a dense and a sparse matrix."""
    square = tf.SparseTensor([[0, 1], [1, 0], [1, 1]], np.array([2, 3, 4], np.float32), [2, 2])
    dense = np.array([[1, 2], [5, 7]], np.float32)
    return tf.sparse_tensor_dense_matmul(dense, square, adjoint_a, adjoint_b)


@case(
    ([[0, 1]], [3], [2, 3], [[1], [2], [3]]),
    ([[0, 1], [0, 1]], [3, 4], [2, 3], [[1], [2], [3]]),
    ([[0, 7]], [3], [2, 3], [[1], [2], [3]]),
    ([[7, 0]], [3], [2, 3], [[1], [2], [3]]),
    ([[0, 1]], [1 + 2j], [2, 3], [[1], [2], [3j]]),
    ([[0]], [3], [2], [[1], [2]]),
)
def multiplied_otherwise(tf: Any, indices: Any, values: Any, shape: Any, b: Any) -> Any:
    """`sparse.sparse_dense_matmul` of other types, and with indices out of range."""
    return tf.sparse.sparse_dense_matmul(tf.SparseTensor(indices, values, shape), b)


@case(*[(parts, is_fed) for parts in (FLOATS, CUBE, PARTS[0], ([[1]], [0.5], [3]),
                                      ([[0, 0], [0, 1]], [np.inf, 1.0], [1, 2]),
                                      ([[0, 0], [0, 1]], [1000.0, 1000.5], [1, 2]))
        for is_fed in (False, True)], digits=6)  # fmt: skip
def softmax(tf: Any, parts: Any, is_fed: bool) -> Any:
    """`sparse_softmax`."""
    sparse, fed = given(tf, parts, is_fed)
    return outcome(tf, tf.sparse_softmax(sparse), fed)


@case((3, None), (2, 3), (3, 2), (0, None), (np.int64(2), None), (2.5, None), (-1, None), ("x", 3))
def identity_matrix(tf: Any, rows: Any, columns: Any) -> Any:
    """`sparse.eye`."""
    rows = tf.constant(4) if rows == "x" else rows
    return [tf.sparse.eye(rows, columns, dtype) for dtype in (tf.float32, tf.int64, tf.bool)]


@case(([12, 45],), ([26],), ([],), (np.array([12, 37], np.int64),), ([12, 26, 37],))
def masked(tf: Any, positions: Any) -> Any:
    """`sparse_mask`."""
    positions = np.zeros([0], np.int32) if positions == [] else positions
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    slices = tf.IndexedSlices(rows, tf.constant([12, 26, 37]), tf.constant([100, 2]))
    result = tf.sparse_mask(slices, positions)
    return result.values, result.indices, result.dense_shape, result.name


ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


@case(*[(kind, positions, numbers, count) for kind in ("sum", "mean", "sqrt_n")
        for positions, numbers in (([0, 1, 2], [0, 0, 1]), ([3, 3, 0], [0, 2, 2]), ([0, 1], [1, 0]),
                                ([0, 1], [-1, 0]), ([0, 7], [0, 0]), ([0, -1], [0, 0]),
                                ([0, 1], [0, 0, 1]), ([[0]], [[0]]), ([], []))
        for count in (None, 4, 1, -3, [3])
        if (numbers, count) != ([0, 2, 2], 1)], digits=6)  # fmt: skip
def segments(tf: Any, kind: str, positions: Any, numbers: Any, count: Any) -> Any:
    """`sparse_segment_sum` and similar functions."""
    positions, numbers = np.array(positions, np.int32), np.array(numbers, np.int32)
    function = getattr(tf, f"sparse_segment_{kind}")
    return function(ROWS, positions, numbers, num_segments=count)


@case(*[(kind, data) for kind in ("sum", "mean", "sqrt_n")
        for data in (ROWS.astype(np.int32), ROWS.astype(np.float64), ROWS[:, 0], 3.0, ["a"],
                     ROWS.reshape(2, 2, 3))], digits=6)  # fmt: skip
def segments_of_types(tf: Any, kind: str, data: Any) -> Any:
    """`sparse_segment_sum` and similar functions, for other types and ranks."""
    result = getattr(tf.sparse, f"segment_{kind}")(data, [0, 1], [0, 0])
    return result, result.name


@case(*[(left, right, flip_a, flip_b) for left in ([[1.0, 2.0]], [[1.0], [2.0]], [1.0])
        for right in ([[3.0], [4.0]], [[3, 4]]) for flip_a in (False, True)
        for flip_b in (False, True)])  # fmt: skip
def mostly_zeros(tf: Any, left: Any, right: Any, flip_a: bool, flip_b: bool) -> Any:
    """`sparse_matmul` of dense matrices."""
    return tf.sparse_matmul(left, right, flip_a, flip_b, a_is_sparse=True)


COLUMNS: list[Any] = [
    ([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2]),
    ([[0, 0], [0, 1], [1, 0]], ["d", "e", "f"], [2, 3]),
    ([[1, 0], [1, 5]], [7, -8], [2, 9]),
    ([[0, 0]], ["x"], [1, 1]),
]


@case(*[(numbers, hashing) for hashing in (None, {}, {"num_buckets": 100},
                                           {"num_buckets": 9, "hash_key": 7}, {"num_buckets": -1})
        for numbers in ([0, 1], [1, 0], [0], [0, 1, 2], [2, 2], [0, 3], [])])  # fmt: skip
def crossed(tf: Any, numbers: Any, hashing: Any) -> Any:
    """`sparse.cross` and `sparse.cross_hashed`."""
    columns = [tf.SparseTensor(*COLUMNS[number]) for number in numbers]
    if hashing is None:
        return tf.sparse.cross(columns)
    return tf.sparse.cross_hashed(columns, **hashing)


@case(*[(is_hashed, number) for is_hashed in (False, True) for number in range(5)])
def crossed_with_dense(tf: Any, is_hashed: bool, number: int) -> Any:
    """Dense columns, and invalid ones."""
    cross = tf.sparse.cross_hashed if is_hashed else tf.sparse.cross
    sparse, words = tf.SparseTensor(*COLUMNS[0]), tf.constant([["p", "q"], ["r", "s"]])
    return [
        lambda: cross([sparse, words]),
        lambda: cross([sparse, tf.constant([[1], [2]])]),
        lambda: cross(sparse),
        lambda: cross([sparse, 3]),
        lambda: cross([words, tf.constant([["t"], ["u"]])]),
    ][number]()


@case(*[(number, is_fed) for number in range(9) for is_fed in (False, True)])
def with_a_dense_one(tf: Any, number: int, is_fed: bool) -> Any:
    """Products and quotients of a sparse and a dense tensor."""
    sparse, fed = given(tf, FLOATS, is_fed)
    result = [
        lambda: sparse * 2.0,
        lambda: sparse * np.arange(5, dtype=np.float32),
        lambda: sparse * np.arange(4, dtype=np.float32).reshape(4, 1),
        lambda: sparse / np.arange(1, 21, dtype=np.float32).reshape(4, 5),
        lambda: sparse * np.ones([3, 5], np.float32),
        lambda: sparse * np.ones([1, 4, 5], np.float32),
        lambda: sparse * np.ones([4, 5], np.int32),
        lambda: 2.0 * sparse,
        lambda: sparse * "a",
    ][number]()
    return outcome(tf, result, fed), result.values.name


@case(*[(dtype,) for dtype in ("int16", "int32", "int64", "float64")])
def divided(tf: Any, dtype: str) -> Any:
    """Quotients of integers and of other floats."""
    sparse = tf.SparseTensor(MATRIX[0], np.array(MATRIX[1], dtype), MATRIX[2])
    return sparse / 2, (sparse * 2)


@case(*[(name,) for name in ("abs", "negative", "sign", "sqrt", "square", "tanh", "identity")],
      digits=6)  # fmt: skip
def of_elements(tf: Any, name: str) -> Any:
    """Functions of the elements of a sparse tensor."""
    return getattr(tf, name)(tf.SparseTensor(MATRIX[0], np.array(MATRIX[1], np.float32), [4, 5]))
