import numpy as np
import pytest

import headrace.tf1 as tf
from headrace import ops


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("quality", [0, 20, 95, 100])
def test_adjusted_image_equals_an_encoded_and_decoded_one(run, photo, hidden, channels, quality):
    pixels = photo(30, 45, channels)
    expected = run(tf.image.decode_jpeg(tf.image.encode_jpeg(pixels, quality=quality)))
    for image, number in ((pixels, quality), (hidden(pixels), hidden(np.int32(quality)))):
        adjusted = tf.image.adjust_jpeg_quality(image, number)
        assert adjusted.dtype == tf.uint8
        assert np.array_equal(run(adjusted), expected)


def test_non_uint8_images_keep_their_dtype_shape_and_range(run, photo):
    pixels = photo(16, 24)
    expected = run(tf.image.adjust_jpeg_quality(pixels, 40)) / 255
    for dtype in (tf.float32, tf.float16, tf.uint16):
        image = tf.image.convert_image_dtype(pixels, dtype)
        adjusted = tf.image.adjust_jpeg_quality(image, 40, name="worse")
        assert (adjusted.dtype, adjusted.shape) == (dtype, (16, 24, 3))
        assert adjusted.op.name.startswith("worse")
        values = run(tf.image.convert_image_dtype(adjusted, tf.float32))
        assert values == pytest.approx(expected, abs=0.005)


def test_values_out_of_range_are_clipped(run):
    image = np.full([8, 8, 1], 7.0, np.float32)
    assert run(tf.image.adjust_jpeg_quality(image, 90)).tolist() == np.ones([8, 8, 1]).tolist()


def test_lower_quality_loses_more(run, photo):
    pixels = photo(64, 64)
    errors = [
        np.abs(run(tf.image.adjust_jpeg_quality(pixels, quality)).astype(int) - pixels).mean()
        for quality in (95, 50, 10)
    ]
    assert errors == sorted(errors)
    assert errors[0] < errors[2] / 2


def test_random_quality_is_within_its_range(run, photo):
    pixels = photo(16, 16)
    files = {run(tf.image.adjust_jpeg_quality(pixels, q)).tobytes(): q for q in range(30, 34)}
    tf.set_random_seed(4)
    changed = tf.image.random_jpeg_quality(pixels, 30, 33, seed=2)
    with tf.Session() as session:
        values = {files[session.run(changed).tobytes()] for _ in range(40)}
    assert values == {30, 31, 32}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((-1, 50), "between 0 and 100"),
        ((50, 101), "between 0 and 100"),
        ((50, 50), "`min_jpeg_quality` must be less"),
    ],
)
def test_invalid_quality_ranges_are_rejected(photo, limits, words):
    with pytest.raises(ValueError, match=words):
        tf.image.random_jpeg_quality(photo(4, 4), *limits)


@pytest.mark.parametrize(
    ("shape", "quality", "words"),
    [
        ((4, 4, 3), 101, r"quality must be in \[0,100\], got 101"),
        ((4, 4, 3), -1, r"quality must be in \[0,100\], got -1"),
        ((4, 4, 2), 50, r"image must have 1 or 3 channels, got \[4,4,2\]"),
        ((4, 4, 3), [50], r"quality must be scalar, got shape \[1\]"),
        ((4, 4), 50, r"image must be 3-dimensional, got shape \[4,4\]"),
    ],
)
def test_invalid_image_or_quality_at_run_time_ends_the_run(run, hidden, shape, quality, words):
    image = hidden(np.zeros(shape, np.uint8))
    file = ops.encode_jpeg_variable_quality(image, hidden(np.array(quality, np.int32)))
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(file)


def test_known_invalid_shapes_are_rejected(photo):
    with pytest.raises(ValueError, match="must be rank 0"):
        ops.encode_jpeg_variable_quality(photo(4, 4), [50])
    with pytest.raises(ValueError, match="must be rank 3"):
        tf.image.adjust_jpeg_quality(np.zeros([4, 4], np.uint8), 50)
