import numpy as np
import pytest

import headrace.tf1 as tf

A = np.arange(24.0).reshape(2, 3, 4)
B = np.arange(24.0, 48.0).reshape(4, 3, 2)


@pytest.mark.parametrize(
    "axes", [0, 1, [[1], [1]], [[2, 1], [0, 1]], [[0, 1, 2], [2, 1, 0]], [2, 0]]
)
def test_tensordot_matches_numpy(run, axes):
    result = tf.tensordot(A, B, axes)
    expected = np.tensordot(A, B, axes)
    assert result.shape == expected.shape
    np.testing.assert_allclose(run(result), expected)
    partly = tf.placeholder_with_default(A, [None, 3, None])
    np.testing.assert_allclose(run(tf.tensordot(partly, B, axes)), expected)


def test_incompatible_axes_are_rejected():
    for axes, words in (
        (4, "must not be larger than the number of dimensions"),
        (-1, "'axes' must be at least 0"),
        ([[1]], "'axes' must be an integer or have length 2"),
        ([[1], [0, 1]], "Different number of contraction axes"),
        ([[3], [0]], "has no axis 3"),
        (tf.placeholder(tf.int32), "must be known when the graph is built"),
    ):
        with pytest.raises(ValueError, match=words):
            tf.tensordot(A, B, axes)
    with pytest.raises(ValueError, match="ranks of both tensors must be known"):
        tf.tensordot(tf.placeholder(tf.float32), B, 1)


def test_cross_product_requires_three_elements(run, hidden):
    a, b = np.array([[1, 2, 3], [0, 0, 1]]), np.array([[4, 5, 7], [1, 0, 0]])
    np.testing.assert_array_equal(run(tf.cross(a, b)), np.cross(a, b))
    with pytest.raises(ValueError, match="Dimension must be 3 but is 2"):
        tf.cross([1, 2], [3, 4])
    with pytest.raises(tf.errors.FailedPreconditionError, match="only defined for 3-element"):
        run(tf.cross(hidden([1, 2]), hidden([3, 4])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be of same shape"):
        run(tf.cross(hidden([1, 2, 3]), hidden([[3, 4, 5]])))
