import re

import numpy as np
import pytest

import headrace.tf1 as tf


class TestEye:
    @pytest.mark.parametrize(("rows", "columns"), [(2, None), (2, 3), (3, 2), (0, None)])
    def test_eye_has_ones_on_the_diagonal(self, run, rows, columns):
        result = tf.eye(rows, columns, dtype=tf.int32)
        assert result.shape == [rows, columns or rows]
        assert np.array_equal(run(result), np.eye(rows, columns))

    def test_eye_is_repeated_along_batch_axes(self, run):
        result = tf.eye(2, batch_shape=[3, 1])
        assert result.shape == [3, 1, 2, 2]
        assert np.array_equal(run(result), np.broadcast_to(np.eye(2), (3, 1, 2, 2)))

    def test_eye_size_can_depend_on_the_run(self, run, hidden):
        result = tf.eye(tf.placeholder_with_default(2, []), 3)
        assert result.shape.as_list() == [None, 3]
        assert np.array_equal(run(result), np.eye(2, 3))

    def test_eye_rejects_an_invalid_number_of_rows(self):
        with pytest.raises(ValueError, match=r"Fill dimensions must be >= 0 .*, got -1"):
            tf.eye(-1)
        with pytest.raises(ValueError, match=r"below 2\*\*63, got 9223372036854775808"):
            tf.eye(2**63)
        with pytest.raises(TypeError, match="num_rows and num_columns must be positive integer"):
            tf.eye(2.5)
        with pytest.raises(TypeError, match="eye: dtype is string, expected a number type or bool"):
            tf.eye(2, dtype=tf.string)


class TestMeshgrid:
    @pytest.mark.parametrize("indexing", ["xy", "ij"])
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_meshgrid_matches_numpy(self, run, indexing, count):
        vectors = [[1, 2], [3, 4, 5], [6, 7]][:count]
        result = tf.meshgrid(*vectors, indexing=indexing)
        expected = np.meshgrid(*vectors, indexing=indexing)
        assert [part.shape for part in result] == [part.shape for part in expected]
        for part, requested in zip(run(result), expected, strict=True):
            assert np.array_equal(part, requested)

    def test_meshgrid_rejects_invalid_indexing_and_types(self):
        with pytest.raises(ValueError, match="indexing parameter must be either 'xy' or 'ij'"):
            tf.meshgrid([1], [2], indexing="yx")
        with pytest.raises(TypeError, match="does not match type float32"):
            tf.meshgrid([1], [2.5])
        assert tf.meshgrid() == []


class TestSequenceMask:
    @pytest.mark.parametrize(
        ("lengths", "maxlen", "value"),
        [
            ([1, 3, 0], None, [[1, 0, 0], [1, 1, 1], [0, 0, 0]]),
            ([1, 3], 2, [[1, 0], [1, 1]]),
            ([[1], [2]], 3, [[[1, 0, 0]], [[1, 1, 0]]]),
            (2, 4, [1, 1, 0, 0]),
            ([-1], None, [[]]),
        ],
    )
    def test_sequence_mask_is_true_for_the_first_positions(self, run, lengths, maxlen, value):
        result = tf.sequence_mask(lengths, maxlen)
        assert result.dtype == tf.bool
        assert run(result).astype(int).tolist() == value

    def test_sequence_mask_type_can_be_chosen(self, run):
        assert run(tf.sequence_mask([1], 2, tf.float32)).tolist() == [[1.0, 0.0]]

    def test_sequence_mask_keeps_known_dimensions(self):
        lengths = tf.placeholder(tf.int32, [None])
        assert tf.sequence_mask(lengths, 4).shape.as_list() == [None, 4]
        assert tf.sequence_mask(lengths).shape.as_list() == [None, None]
        assert tf.sequence_mask(tf.placeholder(tf.int32), 4).shape.rank is None

    def test_sequence_mask_requires_a_scalar_maxlen(self):
        words = re.escape("maxlen must be scalar for sequence_mask")
        with pytest.raises(ValueError, match=words):
            tf.sequence_mask([1], [4])
