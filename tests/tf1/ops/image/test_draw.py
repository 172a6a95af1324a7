import numpy as np
import pytest

import headrace.tf1 as tf

BLACK = np.zeros([1, 4, 5, 3], np.float32)
WHOLE = [[[0.0, 0.0, 1.0, 1.0]]]


def test_border_of_a_box_is_drawn(run):
    drawn = tf.image.draw_bounding_boxes(BLACK, WHOLE)
    assert (drawn.dtype, drawn.shape.as_list()) == (tf.float32, [1, 4, 5, 3])
    pixels = run(drawn)[0]
    assert pixels[0, 0].tolist() == [1, 1, 0]  # the first colour is yellow
    assert not pixels[1:-1, 1:-1].any()
    assert (pixels[..., 0] == 1).sum() == 14


def test_boxes_cycle_through_the_colours(run):
    boxes = [[[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]]
    colors = [[0.25, 0.5, 0.75], [1, 0.5, 0]]
    pixels = run(tf.image.draw_bounding_boxes(BLACK, boxes, "drawn", colors))[0]
    assert pixels[0, 0].tolist() == pixels[0, -1].tolist() == [0.25, 0.5, 0.75]
    assert pixels[-1, -1].tolist() == [1, 0.5, 0]


def test_float16_stays_float16(run):
    drawn = tf.image.draw_bounding_boxes(BLACK.astype(np.float16), WHOLE)
    assert run(drawn).dtype == np.float16


def test_unsupported_types_and_ranks_are_rejected(run, hidden):
    with pytest.raises(TypeError, match="'images' has DataType uint8 not in list of allowed"):
        tf.image.draw_bounding_boxes(tf.constant(BLACK.astype(np.uint8)), WHOLE)
    with pytest.raises(ValueError, match="Shape must be rank 4 but is rank 3"):
        tf.image.draw_bounding_boxes(BLACK[0], WHOLE)
    with pytest.raises(ValueError, match="Shape must be at least rank 3 but is rank 2"):
        tf.image.draw_bounding_boxes(BLACK, WHOLE[0])
    with pytest.raises(ValueError, match="Channel depth should be either 1"):
        tf.image.draw_bounding_boxes(BLACK[..., :2], WHOLE)
    with pytest.raises(tf.errors.InvalidArgumentError, match="The batch sizes should be the same"):
        run(tf.image.draw_bounding_boxes(hidden(BLACK), [WHOLE[0], WHOLE[0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Channel depth should be either 1"):
        run(tf.image.draw_bounding_boxes(hidden(BLACK[..., :2]), WHOLE))
    with pytest.raises(ValueError, match="Dimension must be 4 but is 3"):
        tf.image.draw_bounding_boxes(BLACK, [[[0.5, 0.5, 0.5]]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="The rank of the images should be 4"):
        run(tf.image.draw_bounding_boxes(BLACK[0], WHOLE, colors=[[1, 1, 1]]))
