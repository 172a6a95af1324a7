import numpy as np
import pytest

import headrace.tf1 as tf

TABLE = np.array([[1.0, -2.0, 3.0], [500.0, 0.0, 400.0]])


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_match_numpy(run, axis):
    for actual, expected in (
        (
            tf.reduce_logsumexp(TABLE, axis),
            np.log(np.sum(np.exp(TABLE), axis)),
        ),
        (tf.math.reduce_variance(TABLE, axis), np.var(TABLE, axis)),
        (tf.math.reduce_std(TABLE, axis), np.std(TABLE, axis)),
        (tf.math.reduce_euclidean_norm(TABLE, axis), np.sqrt(np.sum(TABLE**2, axis))),
    ):
        np.testing.assert_allclose(run(actual), expected)


def test_reduce_logsumexp_handles_kept_axes_and_infinities(run):
    kept = tf.reduce_logsumexp(TABLE, reduction_indices=[1], keep_dims=True)
    assert (kept.shape, run(kept).shape) == ((2, 1), (2, 1))
    assert run(tf.reduce_logsumexp([-np.inf, -np.inf])) == -np.inf
    with pytest.raises(TypeError, match="Input must be either real or complex"):
        tf.math.reduce_variance([1, 2])
