"""Parts of sparse tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
PLACES = [[0, 0], [0, 2], [1, 1], [2, 3], [3, 0]]


def matrix():
    return tf.SparseTensor(PLACES, [1, 2, 3, 4, 5], [4, 5])


def dense(sparse):
    return tf.sparse_tensor_to_dense(sparse)


class TestSlice:
    def test_slice_indices_are_relative_to_its_start(self, run):
        part = tf.sparse_slice(matrix(), [0, 1], [3, 2], name="n")
        assert part.values.op.name == "n"
        assert part.indices.shape.as_list() == [None, 2]
        value = run(part)
        assert value.indices.tolist() == [[0, 1], [1, 0]]
        assert value.values.tolist() == [2, 3]
        assert value.dense_shape.tolist() == [3, 2]

    def test_slice_ends_at_the_end_of_the_tensor(self, run):
        assert run(tf.sparse.slice(matrix(), [1, 1], [99, 99])).dense_shape.tolist() == [3, 4]
        past = run(tf.sparse.slice(matrix(), [9, 1], [3, 2]))
        assert (past.values.tolist(), past.dense_shape.tolist()) == ([], [0, 2])

    def test_slice_bounds_can_be_known_only_at_run_time(self, run):
        fed, start = tf.sparse_placeholder(tf.int32), tf.placeholder(tf.int64)
        part = tf.sparse_slice(fed, start, [1, 1])
        arguments = {fed: tf.SparseTensorValue(PLACES, [1, 2, 3, 4, 5], [4, 5]), start: [2, 3]}
        assert run(part, arguments).values.tolist() == [4]

    def test_slice_rejects_invalid_bounds(self, run):
        for start, size, match in (
            ([0], [1], "start to be a vector of length 2 but got length 1"),
            (0, [1, 1], "start should be a vector"),
            ([0, 0], [1, -1], "size of a slice is -1, expected at least 0"),
        ):
            with pytest.raises(IAE, match=match):
                run(tf.sparse_slice(matrix(), start, size))
        with pytest.raises(TypeError, match="Input must be a SparseTensor"):
            tf.sparse_slice([1], [0], [1])

    @given(*[st.lists(st.integers(0, 6), min_size=2, max_size=2)] * 2)
    def test_sparse_slice_matches_the_dense_slice(self, start, size):
        with tf.Graph().as_default(), tf.Session() as session:
            uninterrupted, part = session.run(
                [dense(matrix()), dense(tf.sparse_slice(matrix(), start, size))]
            )
        (top, left), (height, width) = start, size
        assert part.tolist() == uninterrupted[top : top + height, left : left + width].tolist()


class TestSplit:
    def test_first_pieces_of_a_split_are_larger(self, run):
        pieces = tf.sparse_split(sp_input=matrix(), num_split=2, axis=1, name="n")
        assert pieces[1].values.name == "n:3"
        first, second = run(pieces)
        assert first.indices.tolist() == [[0, 0], [0, 2], [1, 1], [3, 0]]
        assert first.values.tolist() == [1, 2, 3, 5]
        assert second.indices.tolist() == [[2, 0]]
        assert (first.dense_shape.tolist(), second.dense_shape.tolist()) == ([4, 3], [4, 2])

    def test_split_arguments_must_be_named(self):
        with pytest.raises(ValueError, match="Keyword arguments are required"):
            tf.sparse_split(matrix(), 2, 1)
        full = {"sp_input": matrix(), "num_split": 2, "axis": 1}
        for missing in full:
            some = {name: value for name, value in full.items() if name != missing}
            with pytest.raises(ValueError, match=f"{missing} is required"):
                tf.sparse_split(**some)
        with pytest.raises(ValueError, match="Cannot specify both 'split_dim' and 'axis'"):
            tf.sparse_split(**full, split_dim=1)

    def test_split_accepts_the_old_name_of_the_axis(self):
        assert len(tf.sparse.split(sp_input=matrix(), num_split=3, split_dim=0)) == 3

    def test_split_rejects_invalid_axes_and_counts(self, run):
        outside = tf.SparseTensor([[0, 9]], [1], [4, 5])
        for sparse, count, axis, match in (
            (matrix(), 2, 2, r"between \[-2, 2\), got 2"),
            (matrix(), 6, -1, r"splitting dimension size \(5\), got 6"),
            (outside, 2, 1, r"indices\[0\] = \[0,9\] is out of bounds"),
        ):
            with pytest.raises(IAE, match=match):
                run(tf.sparse_split(sp_input=sparse, num_split=count, axis=axis))
        with pytest.raises(ValueError, match="passed 0 less than minimum 1"):
            tf.sparse_split(sp_input=matrix(), num_split=0, axis=1)
        with pytest.raises(TypeError, match="Expected int for argument 'num_split'"):
            tf.sparse_split(sp_input=matrix(), num_split=2.5, axis=1)
        with pytest.raises(
            TypeError, match="type int32 that does not match expected type of int64"
        ):
            tf.sparse_split(sp_input=matrix(), num_split=2, axis=tf.constant(1))

    @given(st.integers(1, 4), st.sampled_from([0, 1, -1]))
    def test_sparse_split_matches_the_dense_split(self, count, axis):
        with tf.Graph().as_default(), tf.Session() as session:
            pieces = tf.sparse_split(sp_input=matrix(), num_split=count, axis=axis)
            uninterrupted, *completed = session.run([dense(each) for each in (matrix(), *pieces)])
        expected = np.array_split(uninterrupted, count, axis)
        assert [each.tolist() for each in completed] == [each.tolist() for each in expected]
