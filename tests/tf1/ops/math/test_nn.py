import re

import numpy as np
import pytest

import headrace.tf1 as tf


def test_relu_keeps_only_positive_numbers(run):
    assert run(tf.nn.relu([-1, 0, 2])).tolist() == [0, 0, 2]
    np.testing.assert_array_equal(run(tf.nn.relu([-1.5, np.nan, 2.5])), [0.0, np.nan, 2.5])
    with pytest.raises(TypeError, match="'features' has DataType string not in list of allowed"):
        tf.nn.relu(["a"])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_softmax_sums_to_one(run, axis):
    logits = np.array([[1.0, 2.0, 1000.0], [3.0, 3.0, 3.0]])
    result = tf.nn.softmax(logits, axis)
    powers = np.exp(logits - logits.max(-1 if axis is None else axis, keepdims=True))
    expected = powers / powers.sum(-1 if axis is None else axis, keepdims=True)
    assert (result.op.type, result.shape) == ("Softmax", (2, 3))
    np.testing.assert_allclose(run(result), expected, rtol=1e-12)


def test_softmax_rejects_an_axis_out_of_range(run, hidden):
    words = re.escape("Dimension (2) must be in the range [-1, 1) where 1 is the number of dim")
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.nn.softmax([1.0], 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(tf.nn.softmax(hidden([1.0]), 2))
    with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
        tf.nn.softmax(1.0)
    with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        tf.nn.softmax([1.0], 0, dim=0)


def test_l2_normalize_scales_vectors_to_length_one(run):
    rows = [[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]
    expected = [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]
    np.testing.assert_allclose(run(tf.nn.l2_normalize(rows, 1)), expected, rtol=1e-6)
    np.testing.assert_allclose(run(tf.nn.l2_normalize(rows, dim=1)), expected, rtol=1e-6)
    full = run(tf.nn.l2_normalize(rows))
    np.testing.assert_allclose(np.sum(full**2), 1.0, rtol=1e-6)


def test_moments_are_mean_and_variance(run):
    rows = tf.constant([[1.0, 2.0], [3.0, 6.0]])
    mean, variance = tf.nn.moments(rows, [0])
    assert [x.tolist() for x in run([mean, variance])] == [[2.0, 4.0], [1.0, 4.0]]
    kept, _ = tf.nn.moments(rows, axes=[0, 1], keep_dims=True)
    assert kept.shape == [1, 1]
    half, _ = tf.nn.moments(tf.cast(rows, tf.float16), [1])
    assert half.dtype == tf.float16
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.nn.moments(rows, [0], keep_dims=True, keepdims=True)
