"""Sparse tensors: joining, slicing, reshaping, and filling empty rows."""

from typing import Any

import numpy as np

from tensorflow_comparison.sparse_parts import given, outcome
from tensorflow_comparison.table import case

PARTS: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [1, 0]], [5, 6], [2, 3]),
    ([[0, 0], [1, 2], [2, 1]], [1, 2, 3], [3, 3]),
    ([[1, 0], [0, 1], [0, 0]], ["a", "b", "c"], [2, 4]),
    (np.zeros([0, 2], np.int64), np.zeros([0], np.int32), [2, 3]),
    ([[0, 0, 3], [1, 2, 0]], [0.5, 1.5], [2, 3, 4]),
    ([[2], [0]], [True, True], [5]),
    ([[0, 0], [0, 2], [1, 1], [2, 3], [3, 0]], [1, 2, 3, 4, 5], [4, 5]),
]
CASES = range(len(PARTS))


@case(*[(axis, one, other, is_fed) for axis in (0, 1, -1, -2) for is_fed in (False, True)
        for one, other in ((0, 0), (0, 1), (1, 0), (0, 3), (2, 2), (3, 3))
        if is_fed or axis in (0, -2) or (one, other) not in ((0, 1), (1, 0))])  # fmt: skip
def joined(tf: Any, axis: int, one: int, other: int, is_fed: bool) -> Any:
    """`sparse_concat` of two."""
    (first, fed), (second, more) = given(tf, PARTS[one], is_fed), given(tf, PARTS[other], is_fed)
    return outcome(tf, tf.sparse_concat(axis, [first, second]), {**fed, **more})


@case(*[(axis, one, other, is_fed) for axis in (0, 1, -1) for is_fed in (False, True)
        for one, other in ((0, 1), (1, 0), (3, 1))])  # fmt: skip
def joined_and_expanded(tf: Any, axis: int, one: int, other: int, is_fed: bool) -> Any:
    """`sparse_concat` of two with other sizes."""
    (first, fed), (second, more) = given(tf, PARTS[one], is_fed), given(tf, PARTS[other], is_fed)
    both = tf.sparse_concat(axis, [first, second], expand_nonconcat_dim=True)
    return outcome(tf, both, {**fed, **more})


@case((5,), (-3,), (2,))
def joined_along_no_axis(tf: Any, axis: int) -> Any:
    """`sparse_concat` along a missing axis, which is detected at run time."""
    sparse, fed = given(tf, PARTS[0], True)
    return outcome(tf, tf.sparse_concat(axis, [sparse, sparse]), fed)


@case(*[(number,) for number in range(8)])
def joined_otherwise(tf: Any, number: int) -> Any:
    """`sparse_concat` of one, none, other types and other ranks, and with old argument names."""
    one, value = tf.SparseTensor(*PARTS[0]), tf.SparseTensorValue(*PARTS[1])
    return [
        lambda: tf.sparse_concat(0, [one]).values.op.type,
        lambda: tf.sparse_concat(0, []),
        lambda: tf.sparse_concat(0, one),
        lambda: tf.sparse_concat(0, [one, value]),
        lambda: tf.sparse_concat(0, [one, tf.SparseTensor(*PARTS[5])]),
        lambda: tf.sparse_concat(None, [one, one], concat_dim=1),
        lambda: tf.sparse_concat(1, [one, one], concat_dim=1),
        lambda: tf.sparse_concat(0, [one, 3]),
    ][number]()


@case(*[(number, is_fed) for number in CASES for is_fed in (False, True)])
def filled(tf: Any, number: int, is_fed: bool) -> Any:
    """`sparse_fill_empty_rows`."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    default = {"string": "z", "bool": False}.get(sparse.dtype.name, 9)
    result, was_empty = tf.sparse_fill_empty_rows(sparse, default)
    with tf.Session() as session:
        return outcome(tf, result, fed), str(was_empty.shape), session.run(was_empty, fed)


@case(
    ([[7, 1]], [2, 3], 1),
    ([[-1, 1]], [2, 3], 1),
    ([[1, 99]], [2, 3], 1),
    ([[0, 1]], [0, 3], 1),
    ([[0, 1]], [2, 3], 0.5),
    ([[0, 1]], [2, 3], [1]),
    ([[2, 1], [0, 2], [2, 0], [0, 0]], [4, 3], 1),
    ([[1, 1], [0, 2], [1, 0], [0, 0]], [2, 3], 1),
    ([[]], [], 1),
)
def filled_otherwise(tf: Any, indices: Any, shape: Any, default: Any) -> Any:
    """`sparse_fill_empty_rows` with rows out of range or out of order, and with defaults."""
    indices, shape = np.array(indices, np.int64), np.array(shape, np.int64)
    sparse = tf.SparseTensor(indices, list(range(len(indices))), shape)
    return tf.sparse_fill_empty_rows(sparse, default)


SLICES = [
    ([0, 1], [3, 2]),
    ([1, 1], [30, 20]),
    ([9, 1], [3, 2]),
    ([-1, 1], [3, 2]),
    ([0, 1], [-1, 2]),
    ([0], [3]),
    ([0, 0, 1], [1, 2, 9]),
    (0, 1),
    ([0.5, 1], [3, 2]),
    ([0, 0], [0, 0]),
]


@case(*[(number, start, size, is_fed) for number in (2, 3, 4, 6) for start, size in SLICES
        for is_fed in (False, True)])  # fmt: skip
def cut_out(tf: Any, number: int, start: Any, size: Any, is_fed: bool) -> Any:
    """`sparse_slice`."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    return outcome(tf, tf.sparse_slice(sparse, start, size), fed)


@case(*[(number, count, axis, is_fed) for number in (2, 3, 4, 6) for count in (1, 2, 3, 6)
        for axis in (0, 1, -1, 3) for is_fed in (False, True)])  # fmt: skip
def split(tf: Any, number: int, count: int, axis: int, is_fed: bool) -> Any:
    """`sparse_split`."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    pieces = tf.sparse_split(sp_input=sparse, num_split=count, axis=axis)
    return [outcome(tf, piece, fed) for piece in pieces]


@case(*[(number,) for number in range(10)])
def split_otherwise(tf: Any, number: int) -> Any:
    """`sparse_split` with missing and wrong arguments."""
    sparse = tf.SparseTensor(*PARTS[6])
    out_of_range = tf.SparseTensor([[0, 9]], [1], [4, 5])
    return [
        lambda: tf.sparse_split(sparse, 2, 1),
        lambda: tf.sparse_split(num_split=2, axis=1),
        lambda: tf.sparse_split(sp_input=sparse, axis=1),
        lambda: tf.sparse_split(sp_input=sparse, num_split=2),
        lambda: tf.sparse_split(sp_input=sparse, num_split=2, axis=1, split_dim=1),
        lambda: tf.sparse_split(sp_input=sparse, num_split=0, axis=1),
        lambda: tf.sparse_split(sp_input=[3], num_split=2, axis=1),
        lambda: tf.sparse_split(sp_input=sparse, num_split=2, axis=tf.constant(1)),
        lambda: tf.sparse_split(sp_input=sparse, num_split=tf.constant(2), axis=1),
        lambda: tf.sparse_split(sp_input=out_of_range, num_split=2, axis=1),
    ][number]()


SHAPES = [
    [2, 10], [2, -1], [-1, -1], [3, 7], [3, -1], [-2, 10], [2, 2, 5], [-1], -1, [], [4, 5], [0, -1],
    [3, 0], [6, 4], [5], [6],
]  # fmt: skip


@case(*[(number, shape, is_fed) for number in (0, 3, 4, 5, 6) for shape in SHAPES
        for is_fed in (False, True) if is_fed or shape != [-2, 10]])  # fmt: skip
def reshaped(tf: Any, number: int, shape: Any, is_fed: bool) -> Any:
    """`sparse_reshape`."""
    sparse, fed = given(tf, PARTS[number], is_fed)
    return outcome(tf, tf.sparse_reshape(sparse, np.array(shape, np.int64)), fed)


@case((None,), ([None],), ([2],))
def reshaped_to_what_is_fed(tf: Any, expected: Any) -> Any:
    """`sparse_reshape` to a shape that is only known at run time."""
    sparse = tf.SparseTensor(*PARTS[6])
    shape = tf.placeholder(tf.int32, expected)
    return outcome(tf, tf.sparse_reshape(sparse, shape), {shape: [2, 10]})


@case()
def names(tf: Any) -> Any:
    """The operations and their names."""
    sparse = tf.SparseTensor(*PARTS[6])
    outputs = [
        tf.sparse_concat(0, [sparse, sparse]),
        tf.sparse_fill_empty_rows(sparse, 0)[0],
        tf.sparse_slice(sparse, [0, 0], [1, 1]),
        tf.sparse_split(sp_input=sparse, num_split=2, axis=1)[1],
        tf.sparse_reshape(sparse, [20]),
        tf.sparse_slice(sparse, [0, 0], [1, 1], name="n"),
    ]
    return [(each.values.name, each.indices.op.type) for each in outputs]
