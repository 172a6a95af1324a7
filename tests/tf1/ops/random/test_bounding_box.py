"""Windows of images at random. `tensorflow_comparison` compares the numbers with TensorFlow's."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

OBJECT = [[[0.25, 0.25, 0.75, 0.75]]]


def test_seed_draws_the_same_windows_in_every_session():
    tf.set_random_seed(3)
    window = tf.image.sample_distorted_bounding_box([40, 60, 3], OBJECT, seed=5, seed2=6)
    assert [part.shape.as_list() for part in window] == [[3], [3], [1, 1, 4]]
    assert window.begin.name == "sample_distorted_bounding_box/SampleDistortedBoundingBoxV2:0"
    drawn = []
    for _ in range(2):
        with tf.Session() as session:
            drawn.append([session.run(window.bboxes).ravel().tolist() for _ in range(8)])
    assert drawn[0] == drawn[1]
    assert len({tuple(box) for box in drawn[0]}) > 4


def test_graph_seed_is_ignored():
    tf.set_random_seed(3)
    window = tf.image.sample_distorted_bounding_box([400, 600, 3], OBJECT)
    drawn = []
    for _ in range(2):
        with tf.Session() as session:
            drawn.append([session.run(window.bboxes).ravel().tolist() for _ in range(8)])
    assert drawn[0] != drawn[1]


def test_window_can_be_sliced_from_the_image(run, hidden):
    image = hidden(np.arange(40 * 60 * 3, dtype=np.int32).reshape(40, 60, 3))
    begin, size, box = tf.image.sample_distorted_bounding_box(
        tf.shape(image), OBJECT, seed=5, min_object_covered=0.9
    )
    pixels, start, extent, sides = run([tf.slice(image, begin, size), begin, size, box])
    assert pixels.shape == (extent[0], extent[1], 3)
    assert pixels[0, 0, 0] == (start[0] * 60 + start[1]) * 3
    ends = start[:2] + extent[:2]
    assert np.allclose(sides[0, 0], [*start[:2] / [40, 60], *ends / [40, 60]])


def test_type_of_the_size_is_kept(run):
    size = np.array([40, 60, 3], np.uint8)
    begin, extent, _ = tf.image.sample_distorted_bounding_box(size, OBJECT, seed=5)
    assert begin.dtype == extent.dtype == tf.uint8
    assert run(extent)[2] == 255


def test_whole_image_is_used_without_boxes_only_on_request(run):
    none = np.zeros([1, 0, 4], np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes provided"):
        run(tf.image.sample_distorted_bounding_box([40, 60, 3], none).begin)
    window = tf.image.sample_distorted_bounding_box(
        [40, 60, 3], none, area_range=(1, 1), use_image_if_no_bounding_boxes=True
    )
    assert run(window.size).tolist() == [40, 60, -1]


@pytest.mark.parametrize(
    ("size", "boxes", "text"),
    [
        ([[4]], OBJECT, "Shape must be rank 1 but is rank 2"),
        ([4, 4], OBJECT, "Dimension must be 3 but is 2"),
        ([4, 4, 3], OBJECT[0], "Shape must be rank 3 but is rank 2"),
        ([4, 4, 3], [[[0.5]]], "Dimension must be 4 but is 1"),
    ],
)
def test_invalid_shapes_are_rejected(size, boxes, text):
    with pytest.raises(ValueError, match=text):
        tf.image.sample_distorted_bounding_box(size, boxes)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"area_range": [0.5, 1.5]}, "Area range must be less then or equal to 1.0: [0.5, 1.5]"),
        ({"area_range": [0.5]}, "Area range field must specify 2 dimensions"),
        ({"aspect_ratio_range": [0, 1]}, "Aspect ratio range must be non-negative: [0, 1]"),
        ({"max_attempts": 0}, "Max attempts must be positive"),
        ({"min_object_covered": -1.0}, "Min object covered must be non-negative: -1"),
    ],
)
def test_invalid_ranges_end_the_run(run, options, text):
    window = tf.image.sample_distorted_bounding_box([40, 60, 3], OBJECT, seed=5, **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
        run(window.begin)
