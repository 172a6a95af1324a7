"""The softmax of the elements that a sparse tensor has."""

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_each_row_adds_up_to_1(run, dtype):
    values = np.array([1, 2, 1000, 7, 7], dtype)
    sparse = tf.SparseTensor([[0, 0], [0, 2], [1, 1], [3, 0], [3, 3]], values, [4, 5])
    result = tf.sparse_softmax(sparse, name="n")
    assert result.values.op.name == "n/SparseSoftmax"
    outputs = run(result).values
    assert outputs.dtype == dtype
    np.testing.assert_allclose(outputs, [0.268941, 0.731059, 1, 0.5, 0.5], rtol=2e-3)


def test_elements_can_be_in_any_order(run):
    sparse = tf.SparseTensor([[1, 0], [0, 1], [1, 1]], [1.0, 2.0, 1.0], [2, 2])
    assert run(tf.sparse.softmax(sparse)).values.tolist() == [0.5, 1.0, 0.5]


def test_empty_tensor_is_accepted(run):
    empty = tf.SparseTensor(np.zeros([0, 2]), np.zeros([0]), [2, 2])
    assert run(tf.sparse_softmax(empty)).values.tolist() == []


def test_invalid_ranks_and_types_are_rejected(run):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rank >= 2, .* shape: \[3\]"):
        run(tf.sparse_softmax(tf.SparseTensor([[1]], [0.5], [3])))
    with pytest.raises(TypeError, match="DataType int32 not in list of allowed values"):
        tf.sparse_softmax(tf.SparseTensor([[0, 1]], [5], [2, 2]))
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse_softmax([0.5])
