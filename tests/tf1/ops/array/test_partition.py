import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestDynamicPartition:
    @pytest.mark.parametrize(
        ("data", "partitions", "parts"),
        [
            ([10, 20, 30, 40], [2, 0, 2, 0], [[20, 40], [], [10, 30]]),
            ([[1, 2], [3, 4], [5, 6]], [1, 0, 1], [[[3, 4]], [[1, 2], [5, 6]], []]),
            ([[1, 2], [3, 4]], [[1, 0], [0, 2]], [[2, 3], [1], [4]]),
            (["a", "b"], [1, 0], [[b"b"], [b"a"], []]),
            (7, 1, [[], [7], []]),
        ],
    )
    def test_dynamic_partition_keeps_the_order_of_slices(self, run, data, partitions, parts):
        result = tf.dynamic_partition(data, partitions, 3)
        assert [part.tolist() for part in run(result)] == parts

    def test_dynamic_partition_keeps_known_dimensions(self):
        x = tf.placeholder(tf.float32, [None, 3])
        numbers = tf.placeholder(tf.int32, [None])
        assert [part.shape.as_list() for part in tf.dynamic_partition(x, numbers, 2)] == [
            [None, 3],
            [None, 3],
        ]
        assert tf.dynamic_partition(x, tf.placeholder(tf.int32), 1)[0].shape.rank is None

    @pytest.mark.parametrize(
        ("data", "partitions", "count", "words"),
        [
            ([1, 2], [0, 1], 0, "Attr 'num_partitions' of 'DynamicPartition' Op passed 0 less"),
            ([1, 2, 3], [0, 1], 2, "Dimensions must be equal, but are 3 and 2"),
            (1, [0, 1], 2, "Shape must be at least rank 1 but is rank 0"),
        ],
    )
    def test_dynamic_partition_rejects_invalid_arguments(self, data, partitions, count, words):
        with pytest.raises(ValueError, match=words):
            tf.dynamic_partition(data, partitions, count)

    @pytest.mark.parametrize(
        ("partitions", "words"),
        [
            ([0, 5], "partitions[1] = 5 is not in [0, 2)"),
            ([-1, 0], "partitions[0] = -1 is not in [0, 2)"),
            ([0], "data.shape must start with partitions.shape, got data.shape = [2], partitions"),
        ],
    )
    def test_dynamic_partition_fails_at_run_time_for_partitions_out_of_range(
        self, run, hidden, partitions, words
    ):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.dynamic_partition(hidden([1, 2]), hidden(partitions), 2))


class TestDynamicStitch:
    @pytest.mark.parametrize(
        ("indices", "data", "value"),
        [
            ([[0, 2], [1]], [[10, 30], [20]], [10, 20, 30]),
            ([0, [1, 2]], [[1, 2], [[3, 4], [5, 6]]], [[1, 2], [3, 4], [5, 6]]),
            ([[0, 1], [1]], [[10, 20], [30]], [10, 30]),
            ([[0], [2]], [[10], [30]], [10, 0, 30]),
            ([[0], [2]], [["a"], ["b"]], [b"a", b"", b"b"]),
        ],
    )
    def test_dynamic_stitch_places_slices_at_their_indices(self, run, indices, data, value):
        result = tf.dynamic_stitch(indices, data)
        assert result.shape == np.shape(value)
        assert run(result).tolist() == value

    def test_dynamic_stitch_keeps_known_dimensions(self):
        indices = [tf.placeholder(tf.int32, [None])]
        result = tf.dynamic_stitch(indices, [tf.placeholder(tf.float32, [None, 3])])
        assert result.shape.as_list() == [None, 3]

    @pytest.mark.parametrize(
        ("indices", "data", "words"),
        [
            ([], [], "List argument 'indices' to 'DynamicStitch' Op with length 0 shorter than"),
            ([[0], [1]], [[1]], "Op with length 1 must match length 2 of argument 'indices'"),
            ([[0, 1]], [[1]], "Dimensions must be equal, but are 1 and 2"),
        ],
    )
    def test_dynamic_stitch_rejects_invalid_arguments(self, indices, data, words):
        with pytest.raises(ValueError, match=words):
            tf.dynamic_stitch(indices, data)

    def test_dynamic_stitch_fails_at_run_time_for_invalid_values(self, run, hidden):
        with pytest.raises(IAE, match=re.escape("indices[1] is out of range")):
            run(tf.dynamic_stitch([hidden([0, -1])], [[1, 2]]))
        words = "data[0].shape = [1] does not start with indices[0].shape = [2]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.dynamic_stitch([hidden([0, 1])], [hidden([1])]))


class TestInvertPermutation:
    def test_invert_permutation_undoes_a_permutation(self, run):
        assert run(tf.invert_permutation([3, 4, 0, 2, 1])).tolist() == [2, 4, 3, 0, 1]
        assert tf.invert_permutation(tf.placeholder(tf.int64)).shape.as_list() == [None]

    @pytest.mark.parametrize(
        ("x", "words"),
        [
            ([0, 0], "0 is duplicated in the input."),
            ([0, 5], "5 is not between 0 and 2"),
            ([0, -1], "-1 is not between 0 and 2"),
            ([[0]], "invert_permutation expects a 1D vector."),
        ],
    )
    def test_invalid_permutations_fail_at_run_time(self, run, hidden, x, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.invert_permutation(hidden(x)))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_partitions_can_be_stitched_back(numbers):
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.range(len(numbers)) * 10
        parts = tf.dynamic_partition(data, numbers, 4)
        positions = tf.dynamic_partition(tf.range(len(numbers)), numbers, 4)
        stitched = tf.dynamic_stitch(positions, parts)
        assert session.run(stitched).tolist() == session.run(data).tolist()
