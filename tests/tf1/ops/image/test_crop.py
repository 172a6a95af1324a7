"""NumPy's slices and zeros are the reference."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IMAGE = np.arange(60, dtype=np.int16).reshape(4, 5, 3)
BATCH = np.stack([IMAGE, -IMAGE])


def middle(size, target):
    """Returns the cut of an axis, and its padding, for another size."""
    cut, pad = max(size - target, 0) // 2, max(target - size, 0) // 2
    kept = min(size, target)
    return slice(cut, cut + kept), (pad, target - kept - pad)


@pytest.mark.parametrize("image", [IMAGE, BATCH], ids=["image", "batch"])
def test_crop_to_bounding_box_cuts_each_image(run, hidden, image):
    window = tf.image.crop_to_bounding_box(image, 1, 2, 3, 2)
    assert window.shape.as_list() == [*image.shape[:-3], 3, 2, 3]
    assert np.array_equal(run(window), image[..., 1:4, 2:4, :])
    unknown = tf.image.crop_to_bounding_box(hidden(image), hidden(1), 2, 3, hidden(2))
    assert np.array_equal(run(unknown), image[..., 1:4, 2:4, :])


@pytest.mark.parametrize("image", [IMAGE, BATCH], ids=["image", "batch"])
def test_pad_to_bounding_box_adds_zeros_around_each_image(run, hidden, image):
    padded = tf.image.pad_to_bounding_box(image, 1, 2, 6, 9)
    expected = np.pad(image, [(0, 0)] * (image.ndim - 3) + [(1, 1), (2, 2), (0, 0)])
    assert padded.shape.as_list() == list(expected.shape)
    assert np.array_equal(run(padded), expected)
    assert np.array_equal(run(tf.image.pad_to_bounding_box(hidden(image), 1, 2, 6, 9)), expected)


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    target=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_resize_with_crop_or_pad_keeps_the_center(size, target):
    image = np.arange(size[0] * size[1], dtype=np.uint8).reshape(*size, 1) + 1
    (rows, above), (columns, left) = map(middle, size, target)
    expected = np.pad(image[rows, columns], [above, left, (0, 0)])
    with tf.Graph().as_default(), tf.Session() as session:
        resized = tf.image.resize_image_with_crop_or_pad(image, *target)
        assert np.array_equal(session.run(resized), expected)


def test_size_passed_as_a_tensor_is_unknown_before_the_run(run, hidden):
    resized = tf.image.resize_image_with_crop_or_pad(IMAGE, hidden(2), 9)
    assert resized.shape.as_list() == [None, 9, 3]
    assert run(resized).shape == (2, 9, 3)
    assert tf.image.resize_image_with_crop_or_pad(hidden(IMAGE), 2, 9).shape.as_list() == [
        2,
        9,
        None,
    ]
    assert tf.image.resize_with_crop_or_pad is tf.image.resize_image_with_crop_or_pad


@pytest.mark.parametrize(("fraction", "size"), [(0.1, (2, 1)), (0.5, (2, 3)), (0.87, (4, 5))])
def test_central_crop_keeps_a_fraction(run, fraction, size):
    image = np.arange(20, dtype=np.float32).reshape(4, 5, 1)
    rows, columns = middle(4, size[0])[0], middle(5, size[1])[0]
    for shape in ([4, 5, 1], [None, None, 1]):
        crop = tf.image.central_crop(tf.placeholder_with_default(image, shape), fraction)
        assert np.array_equal(run(crop), image[rows, columns])
    assert tf.image.central_crop(image, 1.0).shape == [4, 5, 1]


DOES_NOT_FIT = [
    (lambda image: tf.image.crop_to_bounding_box(image, 0, 3, 4, 3), "width must be >= target"),
    (lambda image: tf.image.crop_to_bounding_box(image, 2, 0, 3, 3), "height must be >= target"),
    (lambda image: tf.image.crop_to_bounding_box(image, -1, 0, 3, 3), "offset_height must be >= 0"),
    (lambda image: tf.image.crop_to_bounding_box(image, 0, -1, 3, 3), "offset_width must be >= 0"),
    (lambda image: tf.image.crop_to_bounding_box(image, 0, 0, 0, 3), "target_height must be > 0"),
    (lambda image: tf.image.crop_to_bounding_box(image, 0, 0, 3, 0), "target_width must be > 0"),
    (lambda image: tf.image.pad_to_bounding_box(image, 1, 0, 4, 5), "height must be <= target"),
    (lambda image: tf.image.pad_to_bounding_box(image, 0, 1, 4, 5), "width must be <= target"),
    (lambda image: tf.image.pad_to_bounding_box(image, -1, 0, 9, 9), "offset_height must be >= 0"),
    (
        lambda image: tf.image.resize_image_with_crop_or_pad(image, 0, 5),
        "target_height must be > 0",
    ),
    (lambda image: tf.image.resize_image_with_crop_or_pad(image, 5, 0), "target_width must be > 0"),
]


@pytest.mark.parametrize(("change", "text"), DOES_NOT_FIT)
def test_invalid_window_is_rejected_when_the_graph_is_built(change, text):
    with pytest.raises(ValueError, match=text):
        change(IMAGE)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0, 3, 4, 3), "assertion failed: [width must be >= target + offset.]"),
        ((2, 0, 3, 3), "assertion failed: [height must be >= target + offset.]"),
        ((-1, 0, 3, 3), "assertion failed: [offset_height must be >= 0.]"),
        ((0, 0, 3, 0), "assertion failed: [target_width must be > 0.]"),
    ],
)
def test_invalid_window_at_run_time_ends_the_run(run, hidden, numbers, text):
    window = tf.image.crop_to_bounding_box(hidden(IMAGE), *map(hidden, numbers))
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)) as caught:
        run(window)
    assert caught.value.op is window.op


def test_non_image_value_is_rejected(run, hidden):
    for shape, text in [
        ([4, 5], "'image' (shape (4, 5)) must be at least three-dimensional."),
        ([1, 1, 4, 5, 3], "'image' (shape (1, 1, 4, 5, 3)) must have either 3 or 4 dimensions."),
        ([4, 0, 3], "inner 3 dims of 'image.shape' must be > 0: (4, 0, 3)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(text)):
            tf.image.crop_to_bounding_box(np.zeros(shape), 0, 0, 1, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected pixels, got strings"):
        run(tf.image.crop_to_bounding_box([[["a"]]], 0, 0, 1, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have either 3 or 4 dimensions"):
        run(tf.image.crop_to_bounding_box(hidden(np.zeros(4)), 0, 0, 1, 1))
    for fraction in (0.0, 1.1):
        with pytest.raises(ValueError, match=re.escape("central_fraction must be within (0, 1]")):
            tf.image.central_crop(IMAGE, fraction)
    with pytest.raises(ValueError, match="Had rank = None"):
        tf.image.central_crop(hidden(IMAGE), 0.5)
