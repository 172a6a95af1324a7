"""Images that are rotated, moved, or seen in another perspective."""

import numpy as np
import pytest

import headrace.tf1 as tf

image = tf.contrib.image
PICTURE = np.arange(12, dtype=np.uint8).reshape(3, 4)


def test_rotation_by_90_degrees_matches_rot90(run):
    square = np.arange(9, dtype=np.int32).reshape(3, 3)
    turned = run(image.rotate(square, np.pi / 2, "BILINEAR"))
    np.testing.assert_array_equal(turned, np.rot90(square))


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 1), (1, 3, 4, 1)])
def test_rotated_image_keeps_its_axes_and_type(run, shape):
    pixels = PICTURE.reshape(shape)
    result = image.rotate(pixels, 0.0)
    assert result.shape.as_list() == list(shape)
    assert result.dtype == tf.uint8
    np.testing.assert_array_equal(run(result), pixels)


def test_image_is_translated_right_and_down(run):
    moved = run(image.translate(PICTURE, [1, 2]))
    assert moved.tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 2]]
    halfway = run(image.translate(PICTURE.astype(np.float32), [0.5, 0], "BILINEAR"))
    np.testing.assert_allclose(halfway[1], [2.0, 4.5, 5.5, 6.5])


def test_each_image_of_a_batch_has_its_own_angle(run, hidden):
    batch = hidden(np.stack([PICTURE, PICTURE])[..., None])
    batch.set_shape([None, None, None, 1])
    result = image.rotate(batch, [0.0, np.pi])
    assert result.shape.as_list() == [None, None, None, 1]
    values = run(result)[..., 0]
    np.testing.assert_array_equal(values[0], PICTURE)
    np.testing.assert_array_equal(values[1], PICTURE[::-1, ::-1])


def test_output_size_can_differ_from_the_input(run):
    result = image.transform(PICTURE, [2.0, 0, 0, 0, 2, 0, 0, 0], output_shape=[2, 2])
    assert result.shape.as_list() == [2, 2]
    assert run(result).tolist() == [[0, 2], [8, 10]]


def test_invalid_arguments_are_rejected(run):
    row = [1.0, 0, 0, 0, 1, 0, 0, 0]
    with pytest.raises(TypeError, match="Invalid dtype <dtype: 'string'>"):
        image.transform(tf.constant([["a"]]), row)
    with pytest.raises(TypeError, match="Images should have rank between 2 and 4"):
        image.rotate([1.0], 0.0)
    with pytest.raises(TypeError, match="rank must be statically known"):
        image.rotate(tf.placeholder(tf.float32), 0.0)
    with pytest.raises(TypeError, match="Angles should have rank 0 or 1"):
        image.rotate(PICTURE, [[0.0]])
    with pytest.raises(TypeError, match="Transforms should have rank 1 or 2"):
        image.transform(PICTURE, [[row]])
    with pytest.raises(TypeError, match="Translations should have rank 1 or 2"):
        image.translate(PICTURE, 1.0)
    with pytest.raises(ValueError, match="got 'CUBIC', expected NEAREST or BILINEAR"):
        image.rotate(PICTURE, 0.0, "CUBIC")
    with pytest.raises(tf.errors.InvalidArgumentError, match="should be num_images x 8 or 1 x 8"):
        run(image.transform(PICTURE, [row, row]))
