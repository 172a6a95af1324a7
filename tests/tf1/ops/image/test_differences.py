import numpy as np
import pytest

import headrace.tf1 as tf

PICTURES = np.random.default_rng(3).integers(0, 99, (2, 4, 5, 3)).astype(np.float32)


def test_gradients_are_differences_of_neighbours(run):
    down, right = tf.image.image_gradients(tf.constant(PICTURES))
    assert down.shape == right.shape == PICTURES.shape
    expected = np.zeros_like(PICTURES), np.zeros_like(PICTURES)
    expected[0][:, :-1] = np.diff(PICTURES, axis=1)
    expected[1][:, :, :-1] = np.diff(PICTURES, axis=2)
    for values, requested in zip(run([down, right]), expected, strict=True):
        np.testing.assert_array_equal(values, requested)
    sums = np.abs(expected[0]).sum((1, 2, 3)) + np.abs(expected[1]).sum((1, 2, 3))
    np.testing.assert_allclose(run(tf.image.total_variation(PICTURES)), sums, rtol=1e-6)
    np.testing.assert_allclose(run(tf.image.total_variation(PICTURES[0])), sums[0], rtol=1e-6)


def test_sobel_edges_mark_a_step(run, hidden):
    step = np.zeros([1, 4, 4, 1], np.float32)
    step[:, 2:] = 1
    edges = tf.image.sobel_edges(step)
    assert edges.shape == (1, 4, 4, 1, 2)
    assert run(edges)[0, :, 1, 0, 0].tolist() == [0, 4, 4, 0]
    assert not run(edges)[..., 1].any()
    np.testing.assert_array_equal(run(tf.image.sobel_edges(hidden(step))), run(edges))


def test_psnr_is_measured_in_decibels(run, hidden):
    noisy = PICTURES + 2
    expected = 20 * np.log10(99) - 10 * np.log10(4)
    np.testing.assert_allclose(run(tf.image.psnr(PICTURES, noisy, 99.0)), [expected] * 2, rtol=1e-5)
    unknown = tf.image.psnr(hidden(PICTURES), hidden(noisy), 99.0)
    np.testing.assert_allclose(run(unknown), [expected] * 2, rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="have different shapes"):
        run(tf.image.psnr(hidden(PICTURES), hidden(noisy[:1]), 99.0))


def test_invalid_shapes_are_rejected():
    with pytest.raises(ValueError, match="must be either 3 or 4-dimensional"):
        tf.image.total_variation(PICTURES[0, 0])
    with pytest.raises(ValueError, match="image_gradients expects a 4D tensor"):
        tf.image.image_gradients(PICTURES[0])
    with pytest.raises(ValueError, match="Incompatible shapes"):
        tf.image.psnr(PICTURES, PICTURES[:, :2], 1.0)
