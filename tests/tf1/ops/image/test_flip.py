"""NumPy's flips are the reference."""

import numpy as np
import pytest

import headrace.tf1 as tf

IMAGE = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(2, 3, 4)
IMAGES = {
    "image": IMAGE,
    "batch": np.stack([IMAGE, IMAGE + 100]),
    "square": IMAGE[:, :2],
    "floats": np.random.default_rng(0).random((5, 4, 3)),
    "bools": np.array([True, False, False, True, True, False]).reshape(1, 2, 3),
}
WAYS = {
    "flip_left_right": lambda image: np.flip(image, -2),
    "flip_up_down": lambda image: np.flip(image, -3),
    "transpose_image": lambda image: np.swapaxes(image, -3, -2),
}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("way", WAYS)
def test_flips_move_pixels_without_changing_them(run, hidden, kind, way):
    image = IMAGES[kind]
    moved = getattr(tf.image, way)(image)
    expected = WAYS[way](image)
    assert (moved.dtype, moved.shape.as_list()) == (tf.as_dtype(image.dtype), list(expected.shape))
    assert np.array_equal(run(moved), expected)
    assert np.array_equal(run(getattr(tf.image, way)(hidden(image))), expected)


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("quarters", range(-2, 6))
def test_rot90_turns_by_right_angles(run, hidden, kind, quarters):
    image = IMAGES[kind]
    expected = np.rot90(image, quarters, axes=(-3, -2))
    turned = tf.image.rot90(image, quarters)
    assert turned.shape.is_compatible_with(expected.shape)
    assert np.array_equal(run(turned), expected)
    assert np.array_equal(run(tf.image.rot90(hidden(image), hidden(quarters))), expected)


def test_rot90_keeps_a_known_size_only_for_squares():
    assert tf.image.rot90(IMAGES["square"]).shape.as_list() == [2, 2, 4]
    assert tf.image.rot90(IMAGE).shape.as_list() == [None, None, 4]
    assert tf.image.rot90(tf.placeholder(tf.uint8)).shape.rank is None
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        tf.image.rot90(IMAGE, [1])


def test_operations_are_named_after_their_scopes():
    assert tf.image.flip_left_right(IMAGE).op.name.startswith("flip_left_right/")
    assert tf.image.rot90(IMAGE, name="turn").op.name.startswith("turn/")
    assert tf.image.transpose is tf.image.transpose_image


@pytest.mark.parametrize("way", [*WAYS, "rot90", "random_flip_up_down"])
def test_non_image_value_is_rejected(way):
    with pytest.raises(ValueError, match="must be at least three-dimensional"):
        getattr(tf.image, way)([[1]])
