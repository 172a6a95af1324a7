"""`PriorityQueue`: the order of elements, and the valid priorities."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

INVALID = tf.errors.InvalidArgumentError


@pytest.fixture
def queue():
    return tf.PriorityQueue(100, [tf.int32], [()])


def put(sess, queue, priorities):
    """Enqueues elements 0, 1, 2, … of these priorities."""
    priorities = np.array(priorities, np.int64)
    sess.run(queue.enqueue_many([priorities, np.arange(len(priorities), dtype=np.int32)]))


def test_smaller_priorities_come_first_including_negative_ones(sess, queue):
    priorities = [5, -3, 9, 0, 2**62, -(2**62)]
    put(sess, queue, priorities)
    taken, _ = sess.run(queue.dequeue_many(6))
    assert taken.tolist() == sorted(priorities)


def test_priority_is_the_first_component_of_a_dequeued_element(sess):
    queue = tf.PriorityQueue(9, [tf.string], [(2,)])
    sess.run(queue.enqueue((3, ["a", "b"])))
    priority, words = sess.run(queue.dequeue())
    assert (priority, type(priority)) == (3, np.int64)
    assert words.tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    ("priorities", "order"),
    [
        ([7] * 10, [0, 2, 6, 9, 8, 5, 7, 4, 1, 3]),
        ([1, 1, 0, 0, 1, 1, 0, 0], [2, 6, 3, 7, 0, 5, 4, 1]),
        ([2, 2, 2, 1, 1, 1, 3, 3, 3, 2, 2, 1], [3, 5, 11, 4, 2, 10, 0, 9, 1, 6, 8, 7]),
        (
            [3, 1, 2, 1, 3, 2, 1, 1, 2, 3, 0, -5, 0, 1],
            [11, 10, 12, 13, 6, 1, 3, 7, 2, 5, 8, 4, 0, 9],
        ),
    ],
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_equal_priorities_are_ordered_like_the_cpp_standard_heap(
    sess, queue, priorities, order, is_batch
):
    put(sess, queue, priorities)
    if is_batch:
        taken = sess.run(queue.dequeue_many(len(order)))[1].tolist()
    else:
        dequeue = queue.dequeue()[1]
        taken = [sess.run(dequeue) for _ in order]
    assert taken == order


def test_batch_contains_the_best_elements_when_it_completes(sess, queue):
    put(sess, queue, [5, 1])
    call = sess.blocked(queue, queue.dequeue_many(3))
    assert sess.size(queue) == 2
    put(sess, queue, [0, 9])
    assert sess.size(queue) == 1
    assert call.result()[0].tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("priority", "error", "text"),
    [
        (lambda: 1.5, TypeError, "Expected int64"),
        (lambda: "a", TypeError, "Expected int64"),
        (lambda: tf.constant(1), ValueError, "requested dtype int64 for Tensor with dtype int32"),
        (lambda: [1], ValueError, re.escape("Shapes (1,) and () are incompatible")),
        (lambda: tf.constant([1], tf.int64), ValueError, "are incompatible"),
    ],
)
def test_priority_must_be_a_scalar_int64(queue, priority, error, text):
    with pytest.raises(error, match=text):
        queue.enqueue((priority(), 1))


@pytest.mark.parametrize("priority", [1, -1, np.int64(1), np.int32(1)])
def test_python_integer_is_a_valid_priority(sess, queue, priority):
    sess.run(queue.enqueue((priority, 1)))
    assert sess.run(queue.dequeue())[0] == priority


def test_priority_of_the_wrong_shape_is_a_run_time_error(sess, queue):
    priority = tf.placeholder(tf.int64)
    text = "Shape mismatch in tuple component 0. Expected [], got [2]"
    with pytest.raises(INVALID, match=re.escape(text)):
        sess.run(queue.enqueue((priority, 1)), {priority: [1, 2]})
    text = "Shape mismatch in tuple component 0. Expected [1], got [1,2]"
    with pytest.raises(INVALID, match=re.escape(text)):
        sess.run(queue.enqueue_many((priority, [1])), {priority: [[1, 2]]})


def test_names_include_the_priority(sess):
    queue = tf.PriorityQueue(9, [tf.string], [()], ["when", "what"])
    sess.run(queue.enqueue({"what": "later", "when": 2}))
    sess.run(queue.enqueue({"what": "now", "when": 1}))
    assert sess.run(queue.dequeue()) == {"when": 1, "what": b"now"}


def test_empty_shape_means_one_scalar_component(sess):
    for shapes in ([], ()):
        queue = tf.PriorityQueue(9, [tf.int32], shapes)
        sess.run(queue.enqueue((4, 5)))
        assert sess.run(queue.dequeue()) == [4, 5]
