"""Sparse tensors in which each row has an element."""

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("values", "default"),
    [([5, 6], 9), (["a", "b"], ""), ([0.5, 1.5], -1.0), ([True, True], False)],
)
def test_empty_rows_are_filled_with_the_default(run, values, default):
    sparse = tf.SparseTensor([[0, 1], [2, 0]], values, [4, 3])
    filled, was_empty = tf.sparse_fill_empty_rows(sparse, default, name="n")
    assert was_empty.op.name == "n/SparseFillEmptyRows"
    assert (was_empty.shape, filled.get_shape()) == ([4], [4, 3])
    (inputs, value), rows = run([[sparse.values, filled], was_empty])
    assert value.indices.tolist() == [[0, 1], [1, 0], [2, 0], [3, 0]]
    first, second = inputs.tolist()
    default = default.encode() if isinstance(default, str) else default
    assert value.values.tolist() == [first, default, second, default]
    assert rows.tolist() == [False, True, False, True]


def test_elements_come_in_the_order_of_their_rows(run):
    sparse = tf.SparseTensor([[2, 1], [0, 2], [2, 0], [0, 0]], [5, 6, 7, 8], [3, 3])
    value, rows = run(tf.sparse.fill_empty_rows(sparse, 0))
    assert value.indices.tolist() == [[0, 2], [0, 0], [1, 0], [2, 1], [2, 0]]
    assert value.values.tolist() == [6, 8, 0, 5, 7]
    assert rows.tolist() == [False, True, False]


def test_shapes_can_be_unknown_before_the_run(run):
    tensor = tf.sparse_placeholder(tf.int32)
    filled, was_empty = tf.sparse_fill_empty_rows(tensor, 7)
    assert was_empty.shape.as_list() == [None]
    for shape, expected in (([2, 3, 4], [7, 7]), ([0, 3, 4], [])):
        nothing = tf.SparseTensorValue(np.zeros([0, 3]), np.zeros([0]), shape)
        assert run(filled, {tensor: nothing}).values.tolist() == expected


@pytest.mark.parametrize(
    ("row", "shape", "match"),
    [
        (7, [2, 3], r"indices\(0, 0\) is invalid: 7 >= 2"),
        (-1, [2, 3], r"indices\(0, 0\) is invalid: -1 < 0"),
        (0, [0, 3], r"dense_shape\[0\] = 0 but indices.shape\[0\] = 1"),
    ],
)
def test_rows_out_of_range_are_rejected(run, row, shape, match):
    with pytest.raises(IAE, match=match):
        run(tf.sparse_fill_empty_rows(tf.SparseTensor([[row, 0]], [5], shape), 1))


def test_invalid_default_is_rejected():
    sparse = tf.SparseTensor([[0, 0]], [5], [2, 3])
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        tf.sparse_fill_empty_rows(sparse, [1])
    with pytest.raises(TypeError, match="int32"):
        tf.sparse_fill_empty_rows(sparse, 0.5)
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse_fill_empty_rows([3], 1)
    scalar = tf.SparseTensor(np.zeros([1, 0]), [5], np.zeros([0], np.int64))
    with pytest.raises(ValueError, match="dense_shape must not be empty"):
        tf.sparse_fill_empty_rows(scalar, 1)
