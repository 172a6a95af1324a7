import numpy as np
import pytest

import headrace.tf1 as tf

X = np.array([-20.0, -1.5, 0.0, 0.5, 30.0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.nn.elu, np.where(X < 0, np.expm1(X), X)),
        (tf.nn.selu, 1.0507009873554805 * np.where(X < 0, 1.6732632423543772 * np.expm1(X), X)),
        (tf.nn.relu6, np.clip(X, 0, 6)),
        (tf.nn.leaky_relu, np.where(X < 0, 0.2 * X, X)),
        (tf.nn.softplus, np.logaddexp(0, X)),
        (tf.nn.softsign, X / (1 + np.abs(X))),
        (tf.log_sigmoid, -np.logaddexp(0, -X)),
        (tf.nn.log_softmax, X - np.log(np.sum(np.exp(X - 30))) - 30),
        (tf.nn.l2_loss, np.sum(X**2) / 2),
        (tf.nn.zero_fraction, 0.2),
    ],
)
def test_activation_matches_its_definition(run, function, expected):
    result = function(X)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(run(result), expected, rtol=1e-6, atol=1e-12)


def test_integers_are_rejected_or_converted(run):
    leaky = tf.nn.leaky_relu([-10, 10], alpha=0.5)
    assert (leaky.dtype, run(leaky).tolist()) == (tf.float32, [-5, 10])
    assert run(tf.nn.relu6([-1, 7, 3])).tolist() == [0, 6, 3]
    with pytest.raises(TypeError, match="'features' has DataType int32 not in list of allowed"):
        tf.nn.elu([1])


def test_log_softmax_accepts_an_axis(run, hidden):
    rows = np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = rows - np.log(np.exp(rows).sum(0))
    np.testing.assert_allclose(run(tf.nn.log_softmax(rows, dim=0)), expected, rtol=1e-6)
    words = "must be in the range"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.nn.log_softmax(rows, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(tf.nn.log_softmax(hidden(rows), 2))
    with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
        tf.nn.log_softmax(1.0)
