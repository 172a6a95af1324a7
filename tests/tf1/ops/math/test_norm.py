import math

import numpy as np
import pytest

import headrace.tf1 as tf

TABLE = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.5]])


@pytest.mark.parametrize("order", [1, 2, 3.5, math.inf])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keep", [True, False])
def test_vector_norms_match_numpy(run, order, axis, keep):
    value = TABLE if axis is not None else TABLE.ravel()
    result = tf.norm(value, order, axis, keep)
    expected = np.linalg.norm(value, order, axis, keep)
    assert result.shape == expected.shape
    np.testing.assert_allclose(run(result), expected)


@pytest.mark.parametrize("order", ["fro", "euclidean", 1, 2, math.inf])
@pytest.mark.parametrize("axis", [(0, 1), (1, 2), (2, 0)])
def test_matrix_norms_match_numpy(run, order, axis):
    cube = np.random.default_rng(0).normal(size=(2, 3, 4))
    expected = np.linalg.norm(cube, "fro" if order == "euclidean" else order, axis, True)
    result = tf.norm(cube, order, axis, keep_dims=True)
    np.testing.assert_allclose(run(result), expected)
    assert result.shape == expected.shape


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ord": "fro"}, "must be a supported vector norm, got fro"),
        ({"ord": 0}, "must be a supported vector norm, got 0"),
        ({"ord": 3, "axis": (0, 1)}, "must be a supported matrix norm in .*, got 3"),
        ({"axis": (0, 0)}, "a tuple of 2 unique integers"),
        ({"axis": (0,)}, "a tuple of 2 unique integers, got"),
        ({"keepdims": True, "keep_dims": True}, "Cannot specify both"),
    ],
)
def test_unknown_norms_are_rejected(arguments, words):
    with pytest.raises(ValueError, match=words):
        tf.norm(TABLE, **arguments)


def test_clip_by_norm_shortens_long_vectors(run):
    assert run(tf.clip_by_norm([3.0, 4.0], 1.0)).tolist() == pytest.approx([0.6, 0.8])
    assert run(tf.clip_by_norm([0.3, 0.4], 1.0)).tolist() == pytest.approx([0.3, 0.4])
    rows = run(tf.clip_by_norm([[3.0, 4.0], [0.0, 0.0]], 1.0, axes=[1]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    average = run(tf.clip_by_average_norm([3.0, 4.0], 0.5))
    np.testing.assert_allclose(average, np.array([3, 4]) * 0.5 * 2 / 5, rtol=1e-6)
    with pytest.raises(ValueError, match="not compatible"):
        tf.clip_by_norm([1.0, 2.0], [[1.0], [2.0]])


def test_clip_by_global_norm_scales_tensors_together(run):
    inputs = [tf.constant([3.0]), None, tf.constant([[4.0]])]
    assert run(tf.global_norm(inputs)) == 5.0
    (first, none, last), length = tf.clip_by_global_norm(inputs, 1.0)
    assert none is None
    np.testing.assert_allclose(run([first[0], last[0, 0], length]), [0.6, 0.8, 5.0], rtol=1e-6)
    (same,), _ = tf.clip_by_global_norm([[1.0]], 2.0, use_norm=tf.constant(1.0))
    assert run(same).tolist() == [1.0]
    (double,), _ = tf.clip_by_global_norm([np.array([3.0, 4.0])], 1.0)
    np.testing.assert_allclose(run(double), [0.6, 0.8])
    (lost,), _ = tf.clip_by_global_norm([[np.inf]], 1.0)
    assert np.isnan(run(lost)).all()
    for function in (tf.global_norm, lambda t: tf.clip_by_global_norm(t, 1.0)):
        with pytest.raises(TypeError, match="t_list should be a sequence"):
            function(tf.constant([1.0]))
