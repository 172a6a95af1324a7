"""Sparse identity matrices."""

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(("rows", "columns"), [(3, None), (2, 3), (3, 2), (0, None)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_eye_has_ones_on_the_diagonal(run, rows, columns, dtype):
    matrix = tf.sparse.eye(rows, columns, dtype, name="n")
    assert matrix.values.op.name.startswith("n/")
    expected = np.eye(rows, columns, dtype=dtype)
    assert matrix.get_shape() == expected.shape
    values = run(tf.sparse_tensor_to_dense(matrix))
    assert values.dtype == dtype
    assert values.tolist() == expected.tolist()


def test_eye_sizes_can_be_tensors(run):
    size = tf.placeholder(tf.int32, [])
    assert run(tf.sparse.eye(size), {size: 2}).indices.tolist() == [[0, 0], [1, 1]]
    assert run(tf.sparse.eye(np.int64(2), tf.constant(3))).dense_shape.tolist() == [2, 3]


def test_invalid_sizes_are_rejected():
    with pytest.raises(TypeError, match="num_rows must be an integer value"):
        tf.sparse.eye(2.5)
    with pytest.raises(TypeError, match="num_columns must be an integer value"):
        tf.sparse.eye(2, "3")
    with pytest.raises(ValueError, match="-1"):
        tf.sparse.eye(-1)
