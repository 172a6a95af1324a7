"""Random image operations. The expected numbers are TensorFlow's for the same seeds."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

BOARD = np.arange(64, dtype=np.uint8).reshape(8, 8, 1)
COLOURS = np.float32([[[0.2, 0.4, 0.6], [0.5, 0.1, 0.3]]])
DRAWN = {
    "crop": (lambda: tf.random_crop(BOARD, [2, 2, 1], seed=7)[0, 0, 0], [3, 49, 29]),
    "left_right": (
        lambda: tf.image.random_flip_left_right(BOARD, seed=7)[0, 0, 0],
        [7, 0, 7, 0, 7, 0],
    ),
    "up_down": (
        lambda: tf.image.random_flip_up_down(BOARD, seed=7)[0, 0, 0],
        [56, 0, 56, 0, 56, 0],
    ),
    "batch": (
        lambda: tf.image.random_flip_left_right(np.stack([BOARD] * 4), seed=7)[:, 0, 0, 0],
        [[0, 7, 0, 0]] * 3,
    ),
    "brightness": (
        lambda: tf.image.random_brightness(COLOURS, 0.5, seed=7)[0, 0, 0],
        [0.18394096, 0.35713011, -0.03479831],
    ),
    "contrast": (
        lambda: tf.image.random_contrast(COLOURS, 0.2, 1.8, seed=7)[0, 0],
        [
            [0.20385419, 0.39614582, 0.59614587],
            [0.16228877, 0.43771124, 0.63771129],
            [0.25635159, 0.34364840, 0.54364842],
        ],
    ),
    "saturation": (
        lambda: tf.image.random_saturation(COLOURS, 0.2, 1.8, seed=7)[0, 0],
        [
            [0.21027783, 0.40513891, 0.6],
            [0.09943670, 0.34971836, 0.6],
            [0.35027093, 0.47513547, 0.6],
        ],
    ),
    "hue": (
        lambda: tf.image.random_hue(COLOURS, 0.3, seed=7)[0, 0],
        [[0.2, 0.423125, 0.6], [0.22626744, 0.2, 0.6], [0.2, 0.6, 0.46189046]],
    ),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_seeded_draws_match_tensorflow(kind):
    make, expected = DRAWN[kind]
    changed = make()
    for _ in range(2):  # each session begins the sequence again
        with tf.Session() as session:
            results = [session.run(changed) for _ in expected]
        assert np.allclose(results, expected, rtol=0, atol=1e-6)


def test_random_crop_supports_any_rank_and_has_a_known_shape(run):
    crop = tf.random_crop(tf.placeholder_with_default(BOARD, [None, None, 1]), [3, 2, 1])
    assert crop.shape.as_list() == [3, 2, 1]
    pixels = run(crop)[..., 0].astype(int)
    assert np.array_equal(pixels, pixels[0, 0] + [[0, 1], [8, 9], [16, 17]])
    assert sorted(run(tf.random_crop([b"a", b"b", b"c"], [3]))) == [b"a", b"b", b"c"]
    assert run(tf.image.random_crop(BOARD, np.int64([1, 2, 1]))).shape == (1, 2, 1)
    with pytest.raises(ValueError, match="requested dtype int32 for Tensor with dtype int64"):
        tf.random_crop(BOARD, tf.constant([1, 2, 1], tf.int64))
    assert tf.random_crop(BOARD, [1, 1, 1]).op.name.startswith("random_crop")


def test_random_crop_reaches_every_position(run):
    crop = tf.random_crop(np.arange(4), [2], seed=3)
    assert {tuple(run(crop)) for _ in range(60)} == {(0, 1), (1, 2), (2, 3)}


def test_value_smaller_than_the_crop_is_rejected(run, hidden):
    words = "Need value.shape >= size, got "
    for make in (
        lambda: tf.random_crop(BOARD, [9, 1, 1]),
        lambda: tf.random_crop(hidden(BOARD), [9, 1, 1]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(make())
    with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 3"):
        tf.random_crop(BOARD, [1, 1])


def test_random_flip_of_a_batch_requires_a_known_rank(run, hidden):
    flipped = tf.image.random_flip_left_right(hidden(np.stack([BOARD] * 3)))
    text = "1 random numbers for a batch of 3 images of unknown rank"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(flipped)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.image.random_brightness(COLOURS, -1), "max_delta must be non-negative."),
        (lambda: tf.image.random_hue(COLOURS, -1), "max_delta must be non-negative."),
        (lambda: tf.image.random_hue(COLOURS, 0.6), "max_delta must be <= 0.5."),
        (lambda: tf.image.random_contrast(COLOURS, 2, 1), "upper must be > lower."),
        (lambda: tf.image.random_contrast(COLOURS, -1, 1), "lower must be non-negative."),
        (lambda: tf.image.random_saturation(COLOURS, 1, 1), "upper must be > lower."),
    ],
)
def test_invalid_ranges_are_rejected(make, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        make()


def test_typical_training_augmentation_works(run):
    """Draws in a queue runner's loop: each example has its own position, side and brightness."""
    image = tf.random_crop(tf.constant(np.tile(BOARD, (1, 1, 3))), [6, 6, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(tf.cast(image, tf.float32), 63)
    image = tf.image.random_contrast(image, 0.2, 1.8)
    batch = tf.train.batch([tf.image.per_image_standardization(image)], 32, capacity=64)
    assert batch.shape.as_list() == [32, 6, 6, 3]
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        images = session.run(batch, options=tf.RunOptions(timeout_in_ms=30_000))
        coordinator.request_stop()
        coordinator.join(threads)
    assert np.allclose(images.mean((1, 2, 3)), 0, atol=1e-4)
    assert np.allclose(images.std((1, 2, 3)), 1, atol=1e-3)
    assert len({image.tobytes() for image in images}) > 8
