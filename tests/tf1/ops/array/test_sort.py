import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

TABLES = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=3, max_size=3), min_size=1)


@given(TABLES, st.sampled_from([0, 1, -1, -2]), st.booleans(), st.booleans())
def test_sort_and_argsort_match_numpy(table, axis, is_descending, is_known):
    numbers = np.array(table, np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        shape = None if not is_known else numbers.shape
        tensor = tf.placeholder_with_default(numbers, shape)
        direction = "DESCENDING" if is_descending else "ASCENDING"
        result = tf.sort(tensor, axis, direction), tf.argsort(tensor, axis, direction)
        ordered, positions = session.run(result)
    sign = -1 if is_descending else 1
    expected = np.argsort(sign * numbers.astype(np.int64), axis=axis, kind="stable")
    np.testing.assert_array_equal(positions, expected)
    np.testing.assert_array_equal(ordered, np.take_along_axis(numbers, expected, axis))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_matches_numpy(run, side):
    rows, values = np.array([[1, 3, 3, 7], [2, 4, 6, 8]]), np.array([[3, 0], [9, 4]])
    expected = [np.searchsorted(row, each, side) for row, each in zip(rows, values, strict=True)]
    result = tf.searchsorted(rows, values, side, tf.int64)
    assert (result.dtype, result.shape) == (tf.int64, (2, 2))
    np.testing.assert_array_equal(run(result), expected)


def test_invalid_sort_and_search_arguments_are_rejected(run, hidden):
    with pytest.raises(ValueError, match="Direction should be one of ASCENDING, DESCENDING"):
        tf.sort([1], direction="UP")
    with pytest.raises(ValueError, match="axis must be a constant scalar"):
        tf.sort([1], axis=tf.placeholder(tf.int32, []))
    with pytest.raises(ValueError, match=r"must be either 'right' or 'left'\.  Saw: middle"):
        tf.searchsorted([1], [1], "middle")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Leading dim_size of both"):
        run(tf.searchsorted(hidden([[1], [2]]), hidden([[1]])))
