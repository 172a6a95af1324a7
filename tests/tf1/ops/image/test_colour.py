import colorsys
import re

import numpy as np
import pytest

import headrace.tf1 as tf

COLOURS = np.random.default_rng(0).random((6, 7, 3)).astype(np.float32)
BYTES = (COLOURS * 255.5).astype(np.uint8)


def each_pixel(function, image):
    return np.array([function(*pixel) for pixel in image.reshape(-1, 3)]).reshape(image.shape)


@pytest.mark.parametrize(
    ("values", "source", "target", "expected"),
    [
        ([0, 128, 255], "uint8", "float32", [0, 128 / 255, 1]),
        ([0, 65535], "uint16", "float64", [0, 1]),
        ([0.0, 0.5, 1.0], "float32", "uint8", [0, 127, 255]),
        ([0.0, 1.0], "float64", "uint16", [0, 65535]),
        ([0, 255], "uint8", "uint16", [0, 65280]),
        ([0, 65535], "uint16", "uint8", [0, 255]),
        ([127, -128], "int8", "int16", [32512, -32768]),
        ([0.25, 1.5], "float32", "float64", [0.25, 1.5]),
    ],
)
def test_each_dtype_has_its_own_range(run, values, source, target, expected):
    converted = tf.image.convert_image_dtype(tf.constant(values, source), target)
    assert converted.dtype == target
    assert run(converted) == pytest.approx(expected, rel=1e-6)


def test_saturate_keeps_values_in_range(run):
    image = tf.constant([-0.5, 2.0])
    assert run(tf.image.convert_image_dtype(image, tf.uint8, saturate=True)).tolist() == [0, 255]
    same = tf.image.convert_image_dtype(image, tf.float32, name="same")
    assert same.op.name == "same"
    with pytest.raises(AttributeError, match="either floating point or integer"):
        tf.image.convert_image_dtype(image, tf.string)


def test_hsv_conversion_matches_colorsys(run):
    hsv = run(tf.image.rgb_to_hsv(COLOURS))
    assert np.allclose(hsv, each_pixel(colorsys.rgb_to_hsv, COLOURS), atol=1e-6)
    assert np.allclose(run(tf.image.hsv_to_rgb(hsv)), COLOURS, atol=1e-6)
    assert run(tf.image.rgb_to_hsv(tf.constant(COLOURS, tf.float16))).dtype == np.float16


@pytest.mark.parametrize("space", ["yiq", "yuv"])
def test_yiq_and_yuv_conversions_round_trip(run, space):
    apart = run(getattr(tf.image, f"rgb_to_{space}")(COLOURS))
    assert np.allclose(apart[..., 0], COLOURS @ [0.299, 0.587, 0.114], atol=1e-6)
    grey = np.full((1, 1, 3), 0.5, np.float32)
    flat = run(getattr(tf.image, f"rgb_to_{space}")(grey))
    assert np.allclose(flat, [[[0.5, 0, 0]]], atol=1e-4)
    assert np.allclose(run(getattr(tf.image, f"{space}_to_rgb")(apart)), COLOURS, atol=1e-3)


def test_grayscale_conversions_use_the_luma_weights(run):
    grey = tf.image.rgb_to_grayscale(COLOURS)
    assert grey.shape.as_list() == [6, 7, 1]
    assert np.allclose(run(grey)[..., 0], COLOURS @ [0.2989, 0.587, 0.114], atol=1e-6)
    bytes_grey = run(tf.image.rgb_to_grayscale(BYTES)).astype(float)
    assert np.abs(bytes_grey[..., 0] - BYTES @ [0.2989, 0.587, 0.114]).max() <= 1
    rgb = tf.image.grayscale_to_rgb(grey)
    assert rgb.shape.as_list() == [6, 7, 3]
    assert np.array_equal(run(rgb), run(grey).repeat(3, -1))


def test_adjust_brightness_adds_a_delta(run):
    assert np.allclose(run(tf.image.adjust_brightness(COLOURS, -0.25)), COLOURS - 0.25)
    ends = tf.constant([0, 100, 250], tf.uint8)
    assert run(tf.image.adjust_brightness(ends, 0.1)).tolist() == [25, 125, 255]
    assert run(tf.image.adjust_brightness(ends, tf.constant(-0.1))).tolist() == [0, 74, 224]


def test_adjust_contrast_works_per_channel(run):
    mean = COLOURS.mean((0, 1))
    adjusted = run(tf.image.adjust_contrast(COLOURS, 3.0))
    assert np.allclose(adjusted, (COLOURS - mean) * 3 + mean, atol=1e-6)
    batch = run(tf.image.adjust_contrast(np.stack([COLOURS, COLOURS / 2]), 0.5))
    assert np.allclose(batch[1], run(tf.image.adjust_contrast(COLOURS / 2, 0.5)))
    assert run(tf.image.adjust_contrast(BYTES, 0.5)).dtype == np.uint8


def test_adjust_gamma_raises_to_a_power(run, hidden):
    assert np.allclose(run(tf.image.adjust_gamma(COLOURS, 2.2, 0.5)), COLOURS**2.2 * 0.5, atol=1e-6)
    assert run(tf.image.adjust_gamma(tf.constant([128], tf.uint8), 0.5)).tolist() == [181]
    with pytest.raises(ValueError, match=re.escape("Gamma should be a non-negative real number.")):
        tf.image.adjust_gamma(COLOURS, -1)
    late = tf.image.adjust_gamma(COLOURS, hidden(-1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Gamma should be a non-negative"):
        run(late)


def test_adjust_hue_and_saturation_match_colorsys(run):
    hue, saturation, value = np.moveaxis(run(tf.image.rgb_to_hsv(COLOURS)), -1, 0)
    turned = np.stack([(hue + 0.3) % 1, saturation, value], -1)
    result = run(tf.image.adjust_hue(COLOURS, 0.3))
    assert np.allclose(result, each_pixel(colorsys.hsv_to_rgb, turned), atol=1e-5)
    stronger = np.stack([hue, np.clip(saturation * 1.5, 0, 1), value], -1)
    result = run(tf.image.adjust_saturation(COLOURS, 1.5))
    assert np.allclose(result, each_pixel(colorsys.hsv_to_rgb, stronger), atol=1e-5)
    for adjust in (tf.image.adjust_hue, tf.image.adjust_saturation):
        assert adjust(BYTES, 0.5, name="adjusted").op.name.startswith("adjusted")
        assert run(adjust(BYTES, 0.5)).dtype == np.uint8


def test_each_image_is_standardized_separately(run):
    images = np.stack([BYTES, BYTES // 2, np.full_like(BYTES, 7)])
    standard = run(tf.image.per_image_standardization(images))
    for image, original in zip(standard, images, strict=True):
        floats = original.astype(np.float64)
        deviation = max(floats.std(), floats.size**-0.5)
        assert np.allclose(image, (floats - floats.mean()) / deviation, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.image.rgb_to_hsv(np.zeros((2, 2, 4))), "Dimension must be 3 but is 4"),
        (lambda: tf.image.rgb_to_grayscale(np.zeros((2, 2, 4))), "Dimension must be 3 but is 4"),
        (lambda: tf.image.adjust_hue(np.zeros((2, 2, 1)), 0.1), "Dimension must be 3 but is 1"),
        (lambda: tf.image.grayscale_to_rgb(np.zeros((2, 2, 3))), "should be size 1"),
        (lambda: tf.image.grayscale_to_rgb([1.0]), "must be at least two-dimensional"),
        (
            lambda: tf.image.adjust_contrast([[1.0]], 2),
            "Shape must be at least rank 3 but is rank 2",
        ),
        (lambda: tf.image.per_image_standardization([[1]]), "must be at least three-dimensional"),
        (lambda: tf.image.per_image_standardization(np.zeros((0, 1, 1))), "must be > 0"),
    ],
)
def test_invalid_shapes_are_rejected(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_invalid_shapes_at_run_time_end_the_run(run, hidden):
    four = hidden(np.zeros((2, 2, 4), np.float32))
    for result in (tf.image.rgb_to_hsv(four), tf.image.rgb_to_grayscale(four)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 channels"):
            run(result)
