import numpy as np
import pytest

import headrace.tf1 as tf

ONES = [1, 1, 1, 1]


def test_patches_are_windows_of_the_image(run, hidden):
    images = np.arange(2 * 5 * 6 * 3).reshape(2, 5, 6, 3)
    windows = np.lib.stride_tricks.sliding_window_view(images, (2, 3), (1, 2))[:, ::2]
    expected = windows.transpose(0, 1, 2, 4, 5, 3).reshape(2, 2, 4, 18)
    for value in (images, hidden(images)):
        result = tf.extract_image_patches(value, [1, 2, 3, 1], [1, 2, 1, 1], ONES, "VALID")
        np.testing.assert_array_equal(run(result), expected)
    assert tf.extract_image_patches(images, [1, 2, 3, 1], ONES, ONES, "SAME").shape == (2, 5, 6, 18)


def test_pixels_outside_the_image_are_zero(run):
    image = np.arange(1, 5).reshape(1, 2, 2, 1)
    values = run(tf.extract_image_patches(image, [1, 3, 3, 1], ONES, ONES, "SAME"))
    assert values[0, 0, 0].tolist() == [0, 0, 0, 0, 1, 2, 0, 3, 4]
    apart = run(tf.extract_image_patches(image, [1, 1, 2, 1], ONES, [1, 1, 2, 1], "SAME"))
    assert apart[0, 0].tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((3, ONES, ONES, "SAME"), TypeError, "Expected list for 'ksizes'"),
        ((["a", 1, 1, 1], ONES, ONES, "SAME"), TypeError, "Expected int for argument 'ksizes'"),
        ((ONES, [1, 1], ONES, "SAME"), ValueError, "strides attribute to contain 4 values"),
        ((ONES, ONES, [2, 1, 1, 1], "SAME"), ValueError, "in the batch and depth dimensions"),
        (([1, 0, 1, 1], ONES, ONES, "SAME"), ValueError, "ksizes of at least 1"),
        ((ONES, ONES, ONES, "FULL"), ValueError, "not in the list of allowed values"),
        (([1, 9, 1, 1], ONES, ONES, "VALID"), ValueError, "output size would be negative: -5"),
    ],
)
def test_invalid_windows_are_rejected(arguments, error, words):
    with pytest.raises(error, match=words):
        tf.extract_image_patches(np.zeros([1, 3, 3, 1]), *arguments)


def test_invalid_images_at_run_time_end_the_run(run, hidden):
    for image, words in ((np.zeros([3]), "must be 4-dim"), (np.zeros([1, 3, 3, 1]), "be negative")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.extract_image_patches(hidden(image), [1, 9, 1, 1], ONES, ONES, "VALID"))
