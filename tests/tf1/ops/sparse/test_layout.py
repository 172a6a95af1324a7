"""Sparse tensors with the same elements in another shape."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.ops import sparse_transpose

PLACES = [[0, 0, 1], [0, 1, 0], [0, 2, 2], [1, 0, 3]]


@pytest.fixture
def letters():
    return tf.SparseTensor(PLACES, ["a", "b", "c", "d"], [2, 3, 5])


@pytest.fixture
def fed():
    """A sparse placeholder of unknown shape, and the value to feed."""
    tensor = tf.sparse_placeholder(tf.int32)
    return tensor, {tensor: tf.SparseTensorValue([[0, 2], [1, 0]], [5, 6], [2, 3])}


class TestResetShape:
    def test_reset_shape_uses_the_smallest_enclosing_shape(self, run, letters):
        value = run(tf.sparse_reset_shape(letters))
        assert value.dense_shape.tolist() == [2, 3, 4]
        assert value.indices.tolist() == PLACES
        assert value.values.tolist() == [b"a", b"b", b"c", b"d"]

    def test_reset_shape_without_elements_is_empty(self, run):
        empty = tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0]), [2, 3])
        assert run(tf.sparse_reset_shape(empty)).dense_shape.tolist() == [0, 0]

    def test_reset_shape_accepts_a_larger_shape(self, run, letters):
        reset = tf.sparse.reset_shape(letters, [2, 4, 6])
        assert reset.get_shape() == [2, 4, 6]
        assert run(reset).dense_shape.tolist() == [2, 4, 6]

    def test_reset_shape_rejects_a_smaller_shape(self, letters):
        with pytest.raises(ValueError, match="dimension sizes >= "):
            tf.sparse_reset_shape(letters, [2, 3, 4])

    def test_reset_shape_rejects_a_different_rank(self, letters):
        with pytest.raises(ValueError, match="Dimensions 2 and 3"):
            tf.sparse_reset_shape(letters, [3, 7])

    @pytest.mark.parametrize("new", [[2, 2], [2, 3, 4]])
    def test_reset_shape_checks_unknown_shapes_at_run_time(self, run, fed, new):
        sparse, value = fed
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.sparse_reset_shape(sparse, new), value)

    def test_reset_shape_accepts_an_unknown_shape_that_fits(self, run, fed):
        sparse, value = fed
        assert run(tf.sparse_reset_shape(sparse, [4, 3]), value).dense_shape.tolist() == [4, 3]

    def test_reset_shape_requires_a_sparse_tensor(self):
        with pytest.raises(TypeError, match="Input must be a SparseTensor"):
            tf.sparse_reset_shape([1])


class TestTranspose:
    @pytest.mark.parametrize("perm", [None, [2, 1, 0], [0, 2, 1], [1, 2, 0]])
    def test_sparse_transpose_matches_the_dense_transpose(self, run, letters, perm):
        transposed = tf.sparse_transpose(letters, perm)
        dense = [tf.sparse_tensor_to_dense(each, "") for each in (transposed, letters)]
        value, original = run(dense)
        assert value.tolist() == original.transpose(perm).tolist()
        assert transposed.get_shape() == value.shape

    def test_transpose_supports_an_unknown_rank(self, run, fed):
        sparse, value = fed
        transposed = run(tf.sparse.transpose(sparse), value)
        assert transposed.indices.tolist() == [[0, 1], [2, 0]]
        assert transposed.values.tolist() == [6, 5]
        assert transposed.dense_shape.tolist() == [3, 2]

    def test_transpose_operations_have_a_scope(self, letters):
        assert sparse_transpose(letters, name="t").values.op.name == "t/SparseReorder"


class TestExpandDims:
    @pytest.mark.parametrize("axis", [None, 0, 1, 2, 3, -1, -4])
    def test_expand_dims_matches_the_dense_tensor(self, run, letters, axis):
        expanded = tf.sparse.expand_dims(letters, axis)
        dense = [tf.sparse_tensor_to_dense(each, "") for each in (expanded, letters)]
        value, original = run(dense)
        assert value.tolist() == np.expand_dims(original, -1 if axis is None else axis).tolist()
        assert expanded.get_shape().is_compatible_with(value.shape)
        assert expanded.get_shape().ndims == 4

    @pytest.mark.parametrize("axis", [-2, tf.placeholder_with_default])
    def test_expand_dims_supports_an_unknown_rank_and_axis(self, run, fed, axis):
        sparse, value = fed
        position = axis if axis == -2 else axis(-2, [])
        expanded = run(tf.sparse.expand_dims(sparse, position), value)
        assert expanded.dense_shape.tolist() == [2, 1, 3]
        assert expanded.indices.tolist() == [[0, 0, 2], [1, 0, 0]]

    @pytest.mark.parametrize("axis", ["a", 0.5])
    def test_expand_dims_requires_an_integer_axis(self, letters, axis):
        with pytest.raises(TypeError, match="axis must be an integer value"):
            tf.sparse.expand_dims(letters, axis)

    @pytest.mark.parametrize("axis", [-5, 4])
    def test_expand_dims_rejects_an_axis_out_of_range(self, letters, axis):
        with pytest.raises(ValueError, match="expected an integer in"):
            tf.sparse.expand_dims(letters, axis)

    @pytest.mark.parametrize("axis", [-4, 3])
    def test_expand_dims_checks_an_unknown_rank_at_run_time(self, run, fed, axis):
        sparse, value = fed
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.sparse.expand_dims(sparse, axis), value)
