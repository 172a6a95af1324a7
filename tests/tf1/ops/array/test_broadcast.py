import re

import pytest

import headrace.tf1 as tf


def test_broadcast_to_repeats_along_axes(run):
    result = tf.broadcast_to([1, 2], [2, 2])
    assert result.shape == [2, 2]
    assert run(result).tolist() == [[1, 2], [1, 2]]


def test_broadcast_to_keeps_known_dimensions():
    x = tf.placeholder(tf.int32, [None, 3])
    assert tf.broadcast_to(x, [2, 3]).shape == [2, 3]
    assert tf.broadcast_to(x, tf.placeholder(tf.int32, [2])).shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("x", "shape", "built", "ran"),
    [
        (
            [1, 2],
            [3],
            "Dimensions must be equal, but are 2 and 3",
            "Incompatible shapes: [2] vs. [3]",
        ),
        (
            [1, 2],
            [1],
            "Dimensions must be equal, but are 2 and 1",
            "Unable to broadcast tensor of shape [2] to tensor of shape [1]",
        ),
        (
            [[1, 2]],
            [2],
            "Shape must be at most rank 1 but is rank 2",
            "Unable to broadcast tensor of shape [1,2] to tensor of shape [2]",
        ),
        ([1, 2], [-2], "Invalid value in tensor used for shape", "Dimension -2 must be >= 0"),
    ],
)
def test_broadcast_to_rejects_incompatible_shapes(run, hidden, x, shape, built, ran):
    with pytest.raises(ValueError, match=re.escape(built)):
        tf.broadcast_to(x, shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(ran)):
        run(tf.broadcast_to(hidden(x), hidden(shape)))


def test_broadcast_shapes_match_elementwise_operations(run):
    x, y = tf.TensorShape([1, 3]), tf.TensorShape([2, None])
    assert tf.broadcast_static_shape(x, y).as_list() == [2, 3]
    result = tf.broadcast_dynamic_shape([1, 3], [5, 2, 1])
    assert result.shape == [3]
    assert run(result).tolist() == [5, 2, 3]
    assert tf.zeros(result).shape == [5, 2, 3]


def test_incompatible_broadcast_shapes_are_rejected(run):
    words = re.escape("Incompatible shapes for broadcasting: (2, 3) and (4,).")
    with pytest.raises(ValueError, match=words):
        tf.broadcast_static_shape(tf.TensorShape([2, 3]), tf.TensorShape([4]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=re.escape("Incompatible shapes: [2,3] vs. [4]")
    ):
        run(tf.broadcast_dynamic_shape([2, 3], [4]))
