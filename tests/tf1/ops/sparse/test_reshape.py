"""Sparse tensors in other shapes."""

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
PLACES = [[0, 0], [0, 2], [1, 1], [2, 3], [3, 0]]


def matrix():
    return tf.SparseTensor(PLACES, [1, 2, 3, 4, 5], [4, 5])


@pytest.mark.parametrize("shape", [[2, 10], [2, -1], [-1], [2, 2, 5], [4, 5], [1, -1, 20]])
def test_sparse_reshape_matches_the_dense_reshape(run, shape):
    reshaped = tf.sparse_reshape(matrix(), shape, name="n")
    assert reshaped.values.op.name == "n/Identity"
    dense = [tf.sparse_tensor_to_dense(each) for each in (reshaped, matrix())]
    values, original = run(dense)
    assert values.tolist() == original.reshape(shape).tolist()
    assert reshaped.get_shape() == values.shape


@pytest.mark.parametrize("expected", [None, [None], [2]])
def test_shape_can_be_known_only_at_run_time(run, expected):
    shape = tf.placeholder(tf.int32, expected)
    reshaped = tf.sparse.reshape(matrix(), shape)
    assert reshaped.indices.shape.as_list() == [5, expected and expected[0]]
    value = run(reshaped, {shape: [2, -1]})
    assert value.indices.tolist() == [[0, 0], [0, 2], [0, 6], [1, 3], [1, 5]]
    assert value.dense_shape.tolist() == [2, 10]


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ([-1, -1], "At most one dimension can be inferred"),
        ([3, 7], r"20 elements to shape \[3, 7\] \(21 elements\)"),
        ([3, -1], r"20 elements to shape \[3, 6\] \(18 elements\)"),
        (-1, "Shape must be rank 1 but is rank 0"),
    ],
)
def test_incompatible_shape_is_rejected(shape, match):
    with pytest.raises(ValueError, match=match):
        tf.sparse_reshape(matrix(), shape)


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ([-1, -1], "only one output dimension may be -1, not both 0 and 1"),
        ([3, 7], "20 dense values, but the requested shape has 21"),
        ([3, -1], "20 dense values, but the requested shape requires a multiple of 3"),
        ([-2, 10], "size 0 must be non-negative, not -2"),
    ],
)
def test_incompatible_shape_is_a_run_time_error(run, shape, match):
    tensor = tf.sparse_placeholder(tf.int32)
    value = tf.SparseTensorValue(PLACES, [1, 2, 3, 4, 5], [4, 5])
    with pytest.raises(IAE, match=match):
        run(tf.sparse_reshape(tensor, shape), {tensor: value})


def test_sizes_of_an_empty_tensor_cannot_always_be_inferred(run):
    empty = tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0]), [0, 3])
    assert run(tf.sparse_reshape(empty, [3, -1])).dense_shape.tolist() == [3, 0]
    with pytest.raises(IAE, match="cannot infer the missing input size"):
        run(tf.sparse_reshape(empty, [0, -1]))


def test_sparse_reshape_requires_a_sparse_tensor():
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse_reshape([3], [1])
