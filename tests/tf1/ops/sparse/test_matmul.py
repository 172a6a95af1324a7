"""Products of a sparse and a dense matrix."""

import itertools

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
FLAGS = list(itertools.product([False, True], repeat=2))


def sparse(dtype):
    values = np.array([2, 3, 4], dtype)
    if np.iscomplexobj(values):
        values = values * (1 + 1j)
    return tf.SparseTensor([[0, 1], [1, 0], [1, 2]], values.astype(dtype), [2, 3])


def flipped(array, is_flipped):
    return np.conj(array.T) if is_flipped else array


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64"])
@pytest.mark.parametrize(("adjoint_a", "adjoint_b"), FLAGS)
def test_sparse_dense_matmul_matches_the_dense_product(run, dtype, adjoint_a, adjoint_b):
    inner = 2 if adjoint_a else 3
    dense = np.arange(inner * 4).reshape(inner, 4).astype(dtype)
    dense = dense * np.array(1j, dtype) if dtype == "complex64" else dense
    dense = flipped(dense, adjoint_b)
    product = tf.sparse_tensor_dense_matmul(sparse(dtype), dense, adjoint_a, adjoint_b)
    values, uninterrupted = run([product, tf.sparse_tensor_to_dense(sparse(dtype))])
    expected = flipped(uninterrupted, adjoint_a) @ flipped(dense, adjoint_b)
    assert values.tolist() == expected.tolist()
    assert product.shape == expected.shape


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("adjoint_a", "adjoint_b"), FLAGS)
def test_second_factor_can_be_the_sparse_one(run, dtype, adjoint_a, adjoint_b):
    inner = 3 if adjoint_b else 2
    dense = np.arange(4 * inner).reshape(4, inner).astype(dtype)
    dense = dense * np.array(1j, dtype) if dtype == "complex64" else dense
    dense = flipped(dense, adjoint_a)
    product = tf.sparse.matmul(dense, sparse(dtype), adjoint_a, adjoint_b)
    values, uninterrupted = run([product, tf.sparse_tensor_to_dense(sparse(dtype))])
    expected = flipped(dense, adjoint_a) @ flipped(uninterrupted, adjoint_b)
    assert values.tolist() == expected.tolist()


def test_duplicate_elements_are_added(run):
    twice = tf.SparseTensor([[0, 1], [0, 1]], [3.0, 4.0], [1, 2])
    assert run(tf.sparse.sparse_dense_matmul(twice, [[5.0], [6.0]])).tolist() == [[42.0]]


def test_incompatible_matrices_are_rejected(run):
    matrix = sparse("float32")
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        tf.sparse_tensor_dense_matmul(matrix, np.ones([2, 2], np.float32))
    with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
        tf.sparse_tensor_dense_matmul(matrix, np.ones([3], np.float32))
    with pytest.raises(TypeError, match="float64 that does not match type float32"):
        tf.sparse_tensor_dense_matmul(matrix, np.ones([3, 1]))
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse_tensor_dense_matmul([[1.0]], [[1.0]])
    fed = tf.placeholder(tf.float32)
    product = tf.sparse_tensor_dense_matmul(matrix, fed)
    for value, match in ((np.ones([2, 2]), "does not match: 3 vs. 2"), (1, "is not a matrix")):
        with pytest.raises(IAE, match=match):
            run(product, {fed: value})


@pytest.mark.parametrize("index", [[0, 7], [7, 0], [0, -1]])
def test_index_out_of_range_is_rejected(run, index):
    outside = tf.SparseTensor([index], [3.0], [1, 2])
    with pytest.raises(IAE, match=r"is out of bounds: need 0 <= index < \[1,2\]"):
        run(tf.sparse_tensor_dense_matmul(outside, [[5.0], [6.0]]))
