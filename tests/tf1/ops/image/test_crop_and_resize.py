import numpy as np
import pytest

import headrace.tf1 as tf

RAMP = np.arange(2 * 3 * 3, dtype=np.float32).reshape(2, 3, 3, 1)
WHOLE = [[0.0, 0.0, 1.0, 1.0]]


def test_windows_are_cropped_and_resized(run):
    windows = tf.image.crop_and_resize(RAMP, [[0, 0, 1, 1], [1, 0, 0, 1]], [1, 0], [2, 3])
    assert (windows.dtype, windows.shape.as_list()) == (tf.float32, [2, 2, 3, 1])
    assert run(windows)[..., 0].tolist() == [
        [[9, 10, 11], [15, 16, 17]],
        [[6, 7, 8], [0, 1, 2]],
    ]


def test_nearest_sampling_and_extrapolation_value_are_supported(run):
    boxes = [[0, 0, 2, 0.4]]
    windows = tf.image.crop_and_resize(RAMP, boxes, [0], [3, 2], "nearest", -1)
    assert run(windows)[0, ..., 0].tolist() == [[0, 1], [6, 7], [-1, -1]]


def test_bytes_become_floats(run):
    pixels = np.array([[[[10], [20]]]], np.uint8)
    windows = tf.image.crop_and_resize(pixels, WHOLE, box_indices=[0], crop_size=[1, 3])
    assert run(windows).ravel().tolist() == [10, 15, 20]


def test_zero_windows_are_accepted(run):
    windows = tf.image.crop_and_resize(RAMP, np.zeros([0, 4]), np.zeros([0], np.int32), [2, 2])
    assert run(windows).shape == (0, 2, 2, 1)


def test_unknown_sizes_remain_unknown(hidden):
    windows = tf.image.crop_and_resize(hidden(RAMP), WHOLE, [0], hidden([2, 2], tf.int32))
    assert windows.shape.as_list() == [1, None, None, None]


def test_invalid_boxes_are_rejected(run):
    with pytest.raises(tf.errors.OutOfRangeError, match="box_index has values outside"):
        run(tf.image.crop_and_resize(RAMP, WHOLE, [2], [2, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="crop dimensions must be positive"):
        run(tf.image.crop_and_resize(RAMP, WHOLE, [0], [0, 2]))
    with pytest.raises(ValueError, match="Shape must be rank 4 but is rank 3"):
        tf.image.crop_and_resize(RAMP[0], WHOLE, [0], [2, 2])
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 1 and 2"):
        tf.image.crop_and_resize(RAMP, WHOLE, [0, 0], [2, 2])
    with pytest.raises(ValueError, match="Dimension must be 4 but is 1"):
        tf.image.crop_and_resize(RAMP, [[0.5]], [0], [2, 2])
    with pytest.raises(ValueError, match="Dimension must be 2 but is 1"):
        tf.image.crop_and_resize(RAMP, WHOLE, [0], [2])
    with pytest.raises(ValueError, match='"area" is not in the list of allowed values'):
        tf.image.crop_and_resize(RAMP, WHOLE, [0], [2, 2], method="area")
    with pytest.raises(ValueError, match="'box_ind' is None, but it is required"):
        tf.image.crop_and_resize(RAMP, WHOLE, crop_size=[2, 2])
    with pytest.raises(ValueError, match="Cannot specify both 'box_ind' and 'box_indices'"):
        tf.image.crop_and_resize(RAMP, WHOLE, [0], [2, 2], box_indices=[0])
