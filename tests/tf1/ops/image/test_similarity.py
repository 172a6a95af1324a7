"""Structural similarity. TensorFlow's values: `tensorflow_comparison/cases/rare_names.py`."""

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def images():
    drawn = np.random.default_rng(1).uniform(size=(2, 24, 26, 3)).astype(np.float32)
    return drawn[0], drawn[1]


def direct(first, second, peak, size, sigma, k1, k2):
    """The formula, window by window."""
    positions = np.arange(size) - (size - 1) / 2
    line = np.exp(-(positions**2) / (2 * sigma**2))
    weights = np.outer(line, line) / np.outer(line, line).sum()
    c1, c2 = (k1 * peak) ** 2, (k2 * peak) ** 2
    values = []
    for top in range(first.shape[0] - size + 1):
        for left in range(first.shape[1] - size + 1):
            a = first[top : top + size, left : left + size].astype(np.float64)
            b = second[top : top + size, left : left + size].astype(np.float64)
            w = weights[..., None]
            mean_a, mean_b = (w * a).sum((0, 1)), (w * b).sum((0, 1))
            var_a = (w * a * a).sum((0, 1)) - mean_a**2
            var_b = (w * b * b).sum((0, 1)) - mean_b**2
            shared = (w * a * b).sum((0, 1)) - mean_a * mean_b
            luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
            values.append(luminance * (2 * shared + c2) / (var_a + var_b + c2))
    return np.mean(values)


def test_ssim_matches_its_definition_in_each_window(images, run):
    for arguments in ((11, 1.5, 0.01, 0.03), (4, 0.8, 0.02, 0.05)):
        value = run(tf.image.ssim(*images, 1.0, *arguments))
        np.testing.assert_allclose(value, direct(*images, 1.0, *arguments), rtol=1e-5)


def test_equal_images_have_similarity_1(images, run):
    full = np.stack(images)
    assert run(tf.image.ssim(full, full, 1.0)).tolist() == [1, 1]
    assert run(tf.image.ssim_multiscale(full, full, 1.0, (0.5, 0.5))).tolist() == [1, 1]


def test_integers_are_compared_within_their_range(images, run):
    first, second = ((image * 255).astype(np.uint8) for image in images)
    full = run(tf.image.ssim(first, second, 255))
    np.testing.assert_allclose(full, run(tf.image.ssim(first / 255, second / 255, 1.0)), rtol=1e-5)


def test_power_factors_weight_the_scales(images, run):
    first, second = images
    halves = [image.reshape(12, 2, 13, 2, 3).mean((1, 3)) for image in images]
    second_scale = run(tf.image.ssim(*halves, 1.0))
    value = run(tf.image.ssim_multiscale(first, first * 0.5 + second * 0.5, 1.0, (0.0, 1.0)))
    mixed = halves[0] * 0.5 + halves[1] * 0.5
    close = run(tf.image.ssim(halves[0], mixed, 1.0))
    np.testing.assert_allclose(value, close, rtol=1e-3)
    assert second_scale < close


def test_leading_axes_are_broadcast(images, run):
    first, second = images
    value = tf.image.ssim(np.stack([first, second])[:, None], np.stack([first, second]), 1.0)
    assert value.shape.as_list() == [2, 2]
    result = run(value)
    assert (result[0, 0], result[1, 1]) == (1, 1)
    assert result[0, 1] == result[1, 0] < 0.5


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([16, 16], [16, 16], "must have rank at least 3"),
        ([16, 16, 3], [16, 17, 3], "are incompatible"),
        ([2, 16, 16, 3], [3, 16, 16, 3], "Two images are not compatible"),
        (
            [10, 16, 3],
            [10, 16, 3],
            r"height and width \[10, 16\] are too small: .* filter_size \(11\)",
        ),
    ],
)
def test_incompatible_shapes_are_rejected(first, second, words):
    with pytest.raises(ValueError, match=words):
        tf.image.ssim(tf.zeros(first), tf.zeros(second), 1.0)


def test_small_images_of_unknown_size_end_the_run(run):
    image = tf.placeholder(tf.float32)
    small = np.zeros([1, 10, 12, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"height and width \[10, 12\]"):
        run(tf.image.ssim(image, image, 1.0), {image: small})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"at least filter_size \(11\)"):
        run(tf.image.ssim_multiscale(image, image, 1.0), {image: np.zeros([1, 99, 99, 1])})
