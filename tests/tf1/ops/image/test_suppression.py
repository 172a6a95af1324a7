import numpy as np
import pytest

import headrace.tf1 as tf

BOXES = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 10.1, 0, 11.1]],
    np.float32,
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5], np.float32)
suppress = tf.image.non_max_suppression


def test_boxes_that_overlap_better_ones_are_suppressed(run, hidden):
    assert run(suppress(BOXES, SCORES, 9)).tolist() == [3, 0]
    assert run(suppress(hidden(BOXES), hidden(SCORES), 1)).tolist() == [3]
    assert run(suppress(BOXES, SCORES, 9, iou_threshold=0.9)).tolist() == [3, 0, 1, 2, 4]
    assert run(suppress(BOXES, SCORES, 9, 0.9, score_threshold=0.6)).tolist() == [3, 0, 1]
    assert run(suppress(BOXES[:, [0, 1, 0, 1]], SCORES, 9, 0.0)).tolist() == [3, 0, 1, 2, 4]
    assert suppress(BOXES, SCORES, 9).dtype == tf.int32


def test_overlaps_can_be_passed_as_a_matrix(run):
    table = np.array([[1, 0.6, 0], [0.6, 1, 0.1], [0, 0.1, 1]], np.float32)
    by_table = tf.image.non_max_suppression_overlaps
    assert run(by_table(table, SCORES[:3], 9)).tolist() == [0, 2]
    assert run(by_table(table, SCORES[:3], 9, 0.7)).tolist() == [0, 1, 2]


def test_invalid_boxes_and_scores_are_rejected(run, hidden):
    for arguments, words in (
        ((BOXES[:, :3], SCORES, 1), "Dimension must be 4 but is 3"),
        ((BOXES, SCORES[:2], 1), "Dimensions must be equal, but are 5 and 2"),
        ((BOXES[0], SCORES, 1), "Shape must be rank 2 but is rank 1"),
    ):
        with pytest.raises(ValueError, match=words):
            suppress(*arguments)
    for arguments, words in (
        ((BOXES, SCORES, -1), "max_output_size must be non-negative"),
        ((BOXES, SCORES, 1, 1.5), r"iou_threshold must be in \[0, 1\]"),
        ((hidden(BOXES[:, :3]), SCORES, 1), "boxes must have 4 columns"),
        ((hidden(BOXES[0]), SCORES, 1), "boxes must be 2-D"),
        ((BOXES, hidden(SCORES[:2]), 1), "scores has incompatible shape"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(suppress(*arguments))


@pytest.mark.parametrize(
    ("most", "is_padded", "indices", "shape"),
    [
        (2, False, [3, 0], [None]),
        (9, False, [3, 0], [None]),
        (4, True, [3, 0, 0, 0], [4]),
        (1, True, [3], [1]),
        (0, True, [], [0]),
    ],
)
def test_padded_result_has_a_known_length_and_a_count(run, most, is_padded, indices, shape):
    corners = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11]]
    chosen, count = tf.image.non_max_suppression_padded(
        tf.constant(corners), [0.9, 0.75, 0.6, 0.95], most, pad_to_max_output_size=is_padded
    )
    assert (chosen.shape.as_list(), count.shape.as_list()) == (shape, [])
    values, number = run([chosen, count])
    assert (values.tolist(), values.dtype, number) == (indices, np.int32, min(most, 2))


def test_negative_length_of_a_padded_result_ends_the_run(run):
    boxes = tf.constant([[0.0, 0, 1, 1]])
    chosen = tf.image.non_max_suppression_padded(boxes, [1.0], tf.placeholder(tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be non-negative"):
        run(chosen, {"Placeholder:0": -1})
