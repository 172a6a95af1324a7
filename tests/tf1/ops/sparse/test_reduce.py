"""Sums and largest elements of sparse tensors."""

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
PLACES = [[0, 0], [0, 2], [1, 1], [3, 0], [3, 3]]
ALL = [
    tf.sparse_reduce_sum,
    tf.sparse_reduce_max,
    tf.sparse_reduce_sum_sparse,
    tf.sparse_reduce_max_sparse,
]


def matrix(values=(1, 2, -3, 4, 5)):
    return tf.SparseTensor(PLACES, list(values), [4, 5])


def test_dense_result_has_zeros_for_empty_rows(run):
    total, largest = tf.sparse_reduce_sum(matrix(), 1), tf.sparse_reduce_max(matrix(), 1)
    assert (total.shape, largest.shape) == ([4], [4])
    assert run(total).tolist() == [3, -3, 0, 9]
    assert run(largest).tolist() == [2, -3, 0, 5]


def test_sparse_result_has_the_stored_elements(run):
    total, largest = run(
        [tf.sparse_reduce_sum_sparse(matrix(), 1), tf.sparse_reduce_max_sparse(matrix(), 0)]
    )
    assert total.indices.tolist() == [[0], [1], [3]]
    assert (total.values.tolist(), total.dense_shape.tolist()) == ([3, -3, 9], [4])
    assert largest.indices.tolist() == [[0], [1], [2], [3]]
    assert (largest.values.tolist(), largest.dense_shape.tolist()) == ([4, -3, 2, 5], [5])


@pytest.mark.parametrize("axis", [None, 0, -1, [0, 1], [], [1, 1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_match_the_dense_tensor(run, axis, keepdims):
    total = tf.sparse.reduce_sum(matrix(), axis, keepdims=keepdims)
    apart = tf.sparse.reduce_sum_sparse(matrix(), axis, keepdims=keepdims)
    values, parts, uninterrupted = run([total, apart, tf.sparse_tensor_to_dense(matrix())])
    axes = None if axis is None else tuple(set(np.atleast_1d(np.array(axis, int)).tolist()))
    expected = np.sum(uninterrupted, axis=axes, keepdims=keepdims)
    assert values.tolist() == expected.tolist()
    assert total.shape == expected.shape
    spread = np.zeros(parts.dense_shape, int)
    for index, value in zip(parts.indices.tolist(), parts.values, strict=True):
        spread[tuple(index)] = value
    assert spread.tolist() == expected.tolist()


def test_rank_can_be_unknown(run):
    tensor = tf.sparse_placeholder(tf.float32)
    value = tf.SparseTensorValue(PLACES, [1, 2, -3, 4, 5], [4, 5])
    assert tf.sparse_reduce_sum(tensor).shape.rank is None
    assert run(tf.sparse_reduce_sum(tensor), {tensor: value}) == 9
    assert run(tf.sparse_reduce_max(tensor, 0), {tensor: value}).tolist() == [4, -3, 2, 5, 0]


def test_complex_numbers_can_be_summed(run):
    values = [1j, 2, 3, 4, 5 - 1j]
    assert run(tf.sparse_reduce_sum(matrix(values), 1)).tolist() == [2 + 1j, 3, 0, 9 - 1j]


@pytest.mark.parametrize("reduce", ALL)
def test_old_argument_names_are_accepted(run, reduce):
    old, new = run([reduce(matrix(), reduction_axes=1, keep_dims=True), reduce(matrix(), 1, True)])
    assert all(np.array_equal(*pair) for pair in zip(old, new, strict=True))
    with pytest.raises(ValueError, match="Cannot specify both 'reduction_axes' and 'axis'"):
        reduce(matrix(), 1, reduction_axes=1)
    with pytest.raises(ValueError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        reduce(matrix(), 1, True, keep_dims=True)


@pytest.mark.parametrize("reduce", ALL)
def test_invalid_axes_are_rejected(run, reduce):
    for axis in (2, -3):
        with pytest.raises(IAE, match=f"Invalid reduction dimension {axis}, for input with 2"):
            run(reduce(matrix(), axis))
    with pytest.raises(IAE, match="expected a scalar or a vector"):
        run(reduce(matrix(), [[0]]))
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        reduce([3])
    with pytest.raises(TypeError, match="DataType string not in list of allowed values"):
        reduce(matrix("abcde"))


def test_index_out_of_range_is_rejected(run):
    outside = tf.SparseTensor([[5, 0]], [1], [4, 5])
    with pytest.raises(IAE, match=r"indices\[0\] = \[5,0\] is out of bounds"):
        run(tf.sparse_reduce_sum(outside, 1))
