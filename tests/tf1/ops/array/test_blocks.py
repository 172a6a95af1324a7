import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize("block", [2, 4])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_space_to_depth_and_depth_to_space_round_trip(run, hidden, block, data_format):
    images = np.arange(2 * 4 * 8 * 3).reshape(2, 4, 8, 3)
    value = images if data_format == "NHWC" else images.transpose(0, 3, 1, 2)
    deep = tf.space_to_depth(value, block, data_format=data_format)
    back = tf.depth_to_space(deep, block, data_format=data_format)
    assert back.shape == value.shape
    np.testing.assert_array_equal(run(back), value)
    assert run(tf.space_to_depth(hidden(value), block, data_format=data_format)).shape == deep.shape


def test_pixels_of_a_block_are_adjacent(run):
    image = np.arange(16).reshape(1, 4, 4, 1)
    assert run(tf.space_to_depth(image, 2))[0, 0, 1].tolist() == [2, 3, 6, 7]


def test_image_sizes_that_do_not_divide_into_blocks_are_rejected(run, hidden):
    image = np.zeros([1, 3, 4, 3])
    for function, words in (
        (tf.space_to_depth, "height 3 should be divisible by: 2"),
        (tf.depth_to_space, "depth dimension 3 should be divisible by: 4"),
    ):
        with pytest.raises(ValueError, match="must be evenly divisible by"):
            function(image, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(function(hidden(image), 2))
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank should be: 4 instead of: 1"):
            run(function(hidden([1.0]), 2))
        with pytest.raises(ValueError, match="passed 1 less than minimum 2"):
            function(image, 1)
        with pytest.raises(TypeError, match=r"Expected int for argument 'block_size' not 2\.0"):
            function(image, 2.0)
        with pytest.raises(ValueError, match="is not in the list of allowed values"):
            function(image, 2, data_format="CHWN")
