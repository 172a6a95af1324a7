import re

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
TABLE = np.arange(6, dtype=np.int32).reshape(2, 3)


def test_diag_and_diag_part_round_trip(run):
    for diagonal in (np.array([1.0, 2.0]), np.arange(1, 7).reshape(2, 3)):
        full = tf.diag(diagonal)
        assert full.shape == diagonal.shape * 2
        flat = run(full).reshape(diagonal.size, diagonal.size)
        np.testing.assert_array_equal(flat, np.diag(diagonal.ravel()))
        np.testing.assert_array_equal(run(tf.diag_part(full)), diagonal)


@pytest.mark.parametrize("k", [-1, 0, 1, 2])
def test_matrix_diag_with_one_diagonal_matches_numpy(run, k):
    rows = np.array([[1, 2], [3, 4]])
    matrices = tf.matrix_diag(rows, k=k)
    np.testing.assert_array_equal(run(matrices), [np.diag(row, k) for row in rows])
    assert matrices.shape == (2, 2 + abs(k), 2 + abs(k))
    np.testing.assert_array_equal(run(tf.matrix_diag_part(matrices, k=k)), rows)


def test_multiple_diagonals_are_aligned_left(run):
    part = tf.matrix_diag_part(TABLE, k=[-1, 1], padding_value=9)
    assert (part.shape, run(part).tolist()) == ((3, 2), [[1, 5], [0, 4], [3, 9]])
    uninterrupted = run(tf.matrix_diag(part, k=[-1, 1], num_rows=2, num_cols=3))
    np.testing.assert_array_equal(uninterrupted, [[0, 1, 0], [3, 4, 5]])
    changed = tf.matrix_set_diag(TABLE, [[7, 7], [8, 8], [9, 0]], k=[-1, 1])
    assert run(changed).tolist() == [[8, 7, 2], [9, 8, 7]]


def test_matrix_size_and_padding_can_be_set(run):
    wide = tf.matrix_diag([1, 2], num_cols=4, padding_value=7)
    assert run(wide).tolist() == [[1, 7, 7, 7], [7, 2, 7, 7]]
    with pytest.raises(
        ValueError, match=r"too small for the diagonals, which need at least 2 and 2"
    ):
        tf.matrix_diag([1, 2], num_rows=1)
    with pytest.raises(ValueError, match="num_rows and num_cols are not consistent"):
        tf.matrix_diag([1, 2], num_rows=3, num_cols=4)


def test_matrix_band_part_zeroes_elements_far_from_the_diagonal(run):
    ones = np.ones([3, 4], np.int32)
    for low, high in ((0, 0), (1, 0), (-1, 0), (0, 2), (-1, -1)):
        expected = np.triu(np.tril(ones, high if high >= 0 else 9), -low if low >= 0 else -9)
        np.testing.assert_array_equal(run(tf.matrix_band_part(ones, low, high)), expected)


def test_invalid_shapes_are_rejected_at_run_time(run, hidden):
    for output, words in (
        (tf.diag(hidden(1.0)), "must be at least rank 1"),
        (tf.diag_part(hidden(TABLE)), "the halves of the shape differ"),
        (tf.diag_part(hidden([1.0])), "should be even and positive, got 1"),
        (tf.matrix_diag(hidden(1.0)), "diagonal must be at least 1-dim"),
        (tf.matrix_diag(hidden([[1], [2]]), k=[0, 2]), "does not match the lower_diag_index"),
        (tf.matrix_diag(hidden([1, 2]), num_rows=1), "which need at least 2 and 2"),
        (tf.matrix_diag_part(hidden([1])), "input must be at least 2-dim"),
        (tf.matrix_diag_part(hidden(TABLE), k=3), re.escape("between -1 and 2")),
        (tf.matrix_set_diag(hidden(TABLE), hidden([1])), "Either first dimensions"),
        (tf.matrix_band_part(hidden(TABLE), 3, 0), "num_lower must be negative or less or equal"),
    ):
        with pytest.raises(IAE, match=words):
            run(output)


def test_invalid_diagonal_ranges_are_rejected():
    with pytest.raises(ValueError, match="must not be larger than upper_diag_index: 1 > 0"):
        tf.matrix_diag_part(TABLE, k=[1, 0])
    with pytest.raises(ValueError, match="diag_index must be a scalar or vector"):
        tf.matrix_diag_part(TABLE, k=[0, 1, 2])
    with pytest.raises(ValueError, match="must be equal"):
        tf.diag_part(TABLE)
