import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    ("values", "actual", "places", "counts"),
    [
        ([3, 1, 3, 2, 1], [3, 1, 2], [0, 1, 0, 2, 1], [2, 2, 1]),
        (["b", "a", "b"], [b"b", b"a"], [0, 1, 0], [2, 1]),
        ([True, False, True], [True, False], [0, 1, 0], [2, 1]),
        ([], [], [], []),
    ],
)
def test_unique_keeps_the_order_of_first_occurrence(run, values, actual, places, counts):
    result = tf.unique_with_counts(values)
    assert (result.y.shape.as_list(), result.idx.shape) == ([None], [len(values)])
    assert [part.tolist() for part in run(list(result))] == [actual, places, counts]
    assert [part.tolist() for part in run(list(tf.unique(values)))] == [actual, places]


def test_every_nan_is_unique(run):
    y, idx = run(list(tf.unique([np.nan, 1.0, np.nan])))
    np.testing.assert_array_equal(y, [np.nan, 1.0, np.nan])
    assert idx.tolist() == [0, 1, 2]


def test_unique_indices_are_int32_or_int64():
    assert tf.unique([1]).idx.dtype == tf.int32
    assert tf.unique([1], tf.int64).idx.dtype == tf.int64
    assert tf.setdiff1d([1], [2], tf.int64).idx.dtype == tf.int64
    with pytest.raises(TypeError, match="'out_idx' has DataType float32 not in list of allowed"):
        tf.unique([1], tf.float32)


def test_setdiff1d_omits_elements_of_the_other_vector(run):
    result = tf.setdiff1d([1, 2, 3, 2, 5], [1, 3])
    assert [part.tolist() for part in run([result.out, result.idx])] == [[2, 2, 5], [1, 3, 4]]
    assert run(tf.setdiff1d(["a", "b"], ["b"]).out).tolist() == [b"a"]


def test_unique_and_setdiff1d_require_vectors(run, hidden):
    with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 2"):
        tf.unique([[1]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="unique expects a 1D vector"):
        run(tf.unique(hidden([[1]])).y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="y should be a 1D vector"):
        run(tf.setdiff1d(hidden([1]), hidden([[1]])).out)
