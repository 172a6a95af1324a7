"""Resizing compared with Pillow's filters on floats, or with a loop in double precision."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import headrace.tf1 as tf

METHODS = tf.image.ResizeMethod
SQUARES = np.arange(12, dtype=np.float32).reshape(3, 4, 1) ** 2
sides = st.integers(1, 12)
GRIDS = ("legacy", "align_corners", "half_pixel_centers")


def places(size, new_size, grid):
    """Returns the positions of the pixels of a resized axis."""
    scale = size / new_size
    if grid == "align_corners" and new_size > 1:
        scale = (size - 1) / (new_size - 1)
    shift = 0.5 if grid == "half_pixel_centers" else 0
    return np.maximum((np.arange(new_size) + shift) * scale - shift, 0)


def interpolated(image, size, grid):
    """Resizes one axis after the other between the two nearest pixels."""
    for axis, new_size in enumerate(size):
        place = places(image.shape[axis], new_size, grid)
        lower = np.floor(place).astype(int)
        upper = np.minimum(lower + 1, image.shape[axis] - 1)
        fraction = (place - lower).reshape([-1 if i == axis else 1 for i in range(3)])
        image = image.take(lower, axis) * (1 - fraction) + image.take(upper, axis) * fraction
    return image


@given(sides, sides, sides, sides, st.integers(1, 5), st.sampled_from(GRIDS))
def test_bilinear_interpolates_between_the_nearest_pixels(
    height, width, new_height, new_width, channels, grid
):
    image = np.random.default_rng(height).integers(0, 256, (height, width, channels))
    options = {grid: True} if grid != "legacy" else {}
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype in (np.uint8, np.float32):
            batch = image[np.newaxis].astype(dtype)
            resized = tf.image.resize_bilinear(batch, [new_height, new_width], **options)
            assert resized.shape.as_list() == [1, new_height, new_width, channels]
            expected = interpolated(image, (new_height, new_width), grid)
            assert np.allclose(session.run(resized)[0], expected, atol=1e-3)


# The results of TensorFlow for `SQUARES` at 2x3, with its corners aligned or not.
SMALLER = [
    (METHODS.BILINEAR, False, [0, 2, 7.3333333, 40, 58, 79.333333]),
    (METHODS.BILINEAR, True, [0, 2.5, 9, 64, 90.5, 121]),
    (METHODS.NEAREST_NEIGHBOR, False, [0, 1, 4, 16, 25, 36]),
    (METHODS.NEAREST_NEIGHBOR, True, [0, 4, 9, 64, 100, 121]),
    (METHODS.BICUBIC, False, [0, 1.7771268, 7.5941124, 41.5, 60.745895, 84.042007]),
    (METHODS.BICUBIC, True, [0, 2.125, 9, 64, 90.125, 121]),
    (METHODS.AREA, False, [6.25, 11.833333, 20.416666, 51.583332, 70.5, 92.416667]),
    (METHODS.AREA, True, [9.6666667, 17.666667, 29, 69.666667, 93.666667, 121]),
]


@pytest.mark.parametrize(("method", "align_corners", "expected"), SMALLER)
def test_pixels_match_tensorflow(run, hidden, method, align_corners, expected):
    for image in (SQUARES, tf.placeholder_with_default(SQUARES, [None, None, 1])):
        resized = tf.image.resize_images(image, (2, 3), method, align_corners)
        assert (resized.dtype, resized.shape.as_list()) == (tf.float32, [2, 3, 1])
        assert np.allclose(run(resized).ravel(), expected, rtol=1e-6)
    raw = [tf.image.resize_bilinear, tf.image.resize_nearest_neighbor]
    raw += [tf.image.resize_bicubic, tf.image.resize_area]
    alone = raw[method](SQUARES[np.newaxis], hidden([2, 3]), align_corners=align_corners)
    assert alone.shape.as_list() == [1, None, None, 1]
    assert np.allclose(run(alone).ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "filter"),
    [
        ("bilinear", Image.Resampling.BILINEAR),
        ("bicubic", Image.Resampling.BICUBIC),
        ("lanczos3", Image.Resampling.LANCZOS),
    ],
)
@pytest.mark.parametrize("size", [(9, 5), (20, 31), (50, 60), (1, 1)])
def test_antialiased_pixels_match_pillow(run, photo, method, filter, size):
    image = photo(40, 31, 1).astype(np.float32)
    expected = np.asarray(Image.fromarray(image[..., 0]).resize(size[::-1], filter))
    resized = tf.compat.v2.image.resize(image, size, method, antialias=True)
    assert np.allclose(run(resized)[..., 0], expected, atol=1e-3)


def test_antialiasing_removes_a_fine_pattern(run):
    stripes = np.tile([[[0.0], [1.0]]], (8, 4, 1))
    resize = tf.compat.v2.image.resize
    assert np.ptp(run(resize(stripes, (4, 3)))) > 0.6
    assert np.ptp(run(resize(stripes, (4, 3), antialias=True))) < 0.3
    methods = [name for name in vars(tf.compat.v2.image.ResizeMethod) if name.isupper()]
    for method in methods:
        resized = resize(stripes, (3, 5), getattr(tf.compat.v2.image.ResizeMethod, method))
        assert run(resized).shape == (3, 5, 1)


def test_area_is_the_mean_of_covered_pixels(run, photo):
    image = photo(12, 20)
    expected = image.reshape(4, 3, 5, 4, 3).mean((1, 3))
    assert np.allclose(
        run(tf.image.resize_images(image, (4, 5), METHODS.AREA)), expected, atol=1e-3
    )


def test_nearest_neighbor_keeps_the_type(run):
    image = np.array([[[7], [2**40]]])
    resized = tf.image.resize_images(image, (1, 4), METHODS.NEAREST_NEIGHBOR)
    assert resized.dtype == tf.int64
    assert run(resized).ravel().tolist() == [7, 7, 2**40, 2**40]


@pytest.mark.parametrize("is_known", [True, False])
def test_aspect_ratio_can_be_preserved(run, hidden, is_known):
    image = np.zeros((40, 30, 3), np.uint8)
    size = [20, 20] if is_known else hidden([20, 20])
    resized = tf.image.resize_images(image, size, preserve_aspect_ratio=True)
    assert resized.shape.as_list() == ([20, 15, 3] if is_known else [None, None, 3])
    assert run(resized).shape == (20, 15, 3)


def test_image_of_the_target_size_is_unchanged(run):
    image = tf.constant(np.zeros((4, 5, 3), np.uint8))
    assert tf.image.resize_images(image, (4, 5)) is image
    unknown = tf.placeholder_with_default(image, [None, None, 3])
    assert tf.image.resize_images(unknown, (4, 5)).dtype == tf.float32
    assert tf.compat.v2.image.resize(image, (4, 5)).dtype == tf.float32
    assert tf.image.resize is tf.image.resize_images


@pytest.mark.parametrize(("size", "kept"), [((8, 8), (8, 4)), ((3, 20), (3, 1)), ((20, 2), (4, 2))])
def test_resize_with_pad_fills_with_zeros(run, hidden, size, kept):
    image = np.ones((10, 5, 1), np.uint8)
    for source, expected in [(image, size), (hidden(image), map(hidden, size))]:
        padded = run(tf.image.resize_image_with_pad(source, *expected))
        assert (padded.shape, padded.dtype) == ((*size, 1), np.float32)
        rows, columns = np.nonzero(padded[..., 0])
        assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == kept
        above, left = rows.min(), columns.min()
        assert (above, left) == tuple((a - b) // 2 for a, b in zip(size, kept, strict=True))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: tf.image.resize_images([[1]], (2, 2)), "must have either 3 or 4 dimensions"),
        (lambda x: tf.image.resize_images(x[None][None], (2, 2)), "either 3 or 4 dimensions"),
        (lambda x: tf.image.resize_images(tf.placeholder(tf.uint8), (2, 2)), "contains no shape"),
        (lambda x: tf.image.resize_images(x, (2, 2, 2)), "must be a 1-D Tensor of 2 elements"),
        (lambda x: tf.image.resize_images(x, "a"), "'size' must be a 1-D int32 Tensor"),
        (lambda x: tf.image.resize_images(x, (2, 2), 9), "Resize method is not implemented: 9"),
        (
            lambda x: tf.compat.v2.image.resize(x, (2, 2), "no"),
            "Resize method is not implemented: no",
        ),
        (lambda x: tf.image.resize_bilinear(x, (2, 2)), "Shape must be rank 4 but is rank 3"),
        (lambda x: tf.image.resize_area(x[None], [2]), "Dimension must be 2 but is 1"),
        (lambda x: tf.image.resize_image_with_pad(x, 0, 2), "target_height must be > 0."),
        (lambda x: tf.image.resize_image_with_pad(x, 2, 0), "target_width must be > 0."),
    ],
)
def test_invalid_resize_arguments_are_rejected(make, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        make(SQUARES)


def test_invalid_size_at_run_time_ends_the_run(run, hidden):
    resized = tf.image.resize_images(SQUARES, hidden([0, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="output dimensions must be positive"):
        run(resized)
    huge = tf.image.resize_images(SQUARES, hidden([1 << 20, 1 << 20]))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor"):
        run(huge)
    both = tf.image.resize_bilinear(SQUARES[None], [2, 2], True, half_pixel_centers=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="align_corners must be False"):
        run(both)


def test_tensorflow_2_resize_with_pad_keeps_the_aspect_ratio(run):
    image = tf.constant(np.arange(8, dtype=np.float32).reshape(2, 4, 1))
    resized = tf.compat.v2.image.resize_with_pad(image, 4, 4)
    assert resized.shape.as_list() == [4, 4, 1]
    rows = run(resized)[..., 0].tolist()
    assert rows == [[0] * 4, [0, 1, 2, 3], [4, 5, 6, 7], [0] * 4]
    halved = run(tf.compat.v2.image.resize_with_pad(image, 2, 2, antialias=True))[..., 0]
    inner = run(tf.compat.v2.image.resize(image, [1, 2], antialias=True))[..., 0]
    assert np.isin(inner, halved).all()
    assert (halved == 0).sum() == 2
