import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        (tf.cumsum, {}, [1, 3, 6]),
        (tf.cumsum, {"exclusive": True}, [0, 1, 3]),
        (tf.cumsum, {"reverse": True}, [6, 5, 3]),
        (tf.cumsum, {"exclusive": True, "reverse": True}, [5, 3, 0]),
        (tf.cumprod, {}, [1, 2, 6]),
        (tf.cumprod, {"exclusive": True}, [1, 1, 2]),
        (tf.cumprod, {"exclusive": True, "reverse": True}, [6, 3, 1]),
    ],
)
def test_cumulative_functions_combine_preceding_elements(run, function, arguments, value):
    result = function([1, 2, 3], **arguments)
    assert (result.dtype, result.shape) == (tf.int32, [3])
    assert run(result).tolist() == value


def test_negative_axes_count_from_the_end(run):
    assert run(tf.cumsum([[1, 2], [3, 4]], -1)).tolist() == [[1, 3], [3, 7]]
    assert run(tf.cumsum([[1, 2], [3, 4]], 0)).tolist() == [[1, 2], [4, 6]]


def test_cumsum_keeps_the_type_and_integers_wrap(run):
    assert run(tf.cumsum(tf.constant([200, 100], tf.uint8))).tolist() == [200, 44]
    with pytest.raises(TypeError, match="'x' has DataType bool not in list of allowed values"):
        tf.cumsum([True])


@pytest.mark.parametrize(
    ("x", "axis", "words"),
    [
        ([1, 2], 1, "ScanOp: Expected scan axis in the range [-1, 1), but got 1"),
        ([1, 2], [0], "ScanOp: axis must be a scalar, not [1]"),
        (1, 0, "ScanOp: Expected scan axis in the range [0, 0), but got 0"),
    ],
)
def test_axis_out_of_range_fails_at_run_time(run, x, axis, words):
    with pytest.raises(IAE, match=re.escape(words)):
        run(tf.cumsum(x, axis))


@given(st.lists(st.integers(-9, 9), max_size=5), st.booleans(), st.booleans())
def test_cumsum_matches_its_definition(numbers, exclusive, reverse):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(numbers, tf.int32, shape=[len(numbers)])
        result = session.run(tf.cumsum(x, 0, exclusive, reverse)).tolist()
    ordered = numbers[::-1] if reverse else numbers
    sums = [sum(ordered[: position + (not exclusive)]) for position in range(len(numbers))]
    assert result == (sums[::-1] if reverse else sums)
    assert np.shape(result) == np.shape(numbers)
