"""Selections of elements of sparse tensors."""

import numpy as np
import pytest

import headrace.tf1 as tf

PLACES = [[0, 1], [0, 3], [2, 0], [3, 1]]


@pytest.fixture
def letters():
    return tf.SparseTensor(PLACES, ["a", "b", "c", "d"], [4, 5])


def test_retain_keeps_elements_where_the_mask_is_true(run, letters):
    kept = run(tf.sparse_retain(letters, [True, False, False, True]))
    assert kept.indices.tolist() == [[0, 1], [3, 1]]
    assert kept.values.tolist() == [b"a", b"d"]
    assert kept.dense_shape.tolist() == [4, 5]


def test_all_elements_can_be_removed(run, letters):
    kept = run(tf.sparse_retain(letters, [False] * 4))
    assert kept.indices.shape == (0, 2)
    assert kept.values.shape == (0,)


def test_condition_can_be_computed_from_the_values(run):
    sparse = tf.SparseTensor(PLACES, [4, -1, 0, 7], [4, 5])
    assert run(tf.sparse.retain(sparse, sparse.values > 0)).values.tolist() == [4, 7]


@pytest.mark.parametrize(
    ("wrong", "words"), [([True], "Dimensions 4 and 1"), (True, "rank 1"), ([[True] * 4], "rank 1")]
)
def test_mask_must_have_one_bool_per_element(letters, wrong, words):
    with pytest.raises(ValueError, match=words):
        tf.sparse_retain(letters, wrong)


def test_retain_requires_a_sparse_tensor():
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse_retain([1, 2], [True, False])


@pytest.mark.parametrize(
    "value", [[[0, 3], [1, 0]], [0.5, 0.0, float("nan")], ["", "a"], [False, True], [0, 0]]
)
def test_from_dense_stores_nonzero_elements_and_round_trips(run, value):
    sparse = tf.sparse.from_dense(value)
    parts, dense = run([sparse, tf.sparse_tensor_to_dense(sparse)])
    expected = run(tf.constant(value))
    np.testing.assert_array_equal(dense, expected)
    assert len(parts.values) == sum(bool(each) for each in expected.ravel())
    assert sparse.get_shape() == expected.shape
