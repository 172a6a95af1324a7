import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    ("values", "source", "target", "expected"),
    [
        ([300.0, -5.0, 3.7], tf.float32, tf.uint8, [255, 0, 3]),
        ([300, -500, 3], tf.int32, tf.int8, [127, -128, 3]),
        ([200, 5], tf.uint8, tf.int8, [127, 5]),
        ([2**40], tf.int64, tf.int32, [2**31 - 1]),
        # The largest float32 below 2^31.
        ([1e20, -1e20], tf.float32, tf.int32, [2**31 - 128, -(2**31)]),
        ([70000.0], tf.float32, tf.float16, [65504.0]),
        ([1.5], tf.float32, tf.float64, [1.5]),
    ],
)
def test_value_out_of_range_becomes_the_limit(run, values, source, target, expected):
    result = tf.saturate_cast(tf.constant(values, source), target)
    assert (result.dtype, result.shape) == (target, [len(values)])
    assert run(result).tolist() == expected


@pytest.mark.parametrize(("values", "target"), [([True], tf.int32), ([1], tf.bool)])
def test_bools_cannot_be_saturated(values, target):
    with pytest.raises(TypeError, match="Cannot find minimum value of <dtype: 'bool'>"):
        tf.saturate_cast(np.array(values), target)
