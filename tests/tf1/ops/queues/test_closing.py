"""Closing a queue, and the calls that still work afterwards."""

import re

import pytest

import headrace.tf1 as tf

CANCELLED = tf.errors.CancelledError
EXHAUSTED = tf.errors.OutOfRangeError


@pytest.fixture
def queue(kind, sess):
    """A queue of three elements, closed."""
    queue = kind.make(shared_name="shared")
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    sess.run(queue.close())
    return queue


def numbers(kind, taken):
    return kind.in_order(kind.components(taken)[0].tolist())


def insufficient(kind, requested, size):
    return re.escape(
        f"{kind.name} 'shared' is closed and has insufficient elements "
        f"(requested {requested}, current size {size})"
    )


def test_operations_are_named_after_the_queue(kind):
    queue = kind.make(name="q")
    outputs = [queue.close(), queue.close(True), queue.size().op, queue.is_closed().op]
    named = [queue.close(name="a"), queue.size(name="b").op, queue.is_closed(name="c").op]
    assert [op.name for op in outputs] == ["q_Close", "q_Close_1", "q_Size", "q_Is_Closed"]
    assert [op.name for op in named] == ["a", "b", "c"]


def test_size_and_is_closed_are_scalars(kind, sess):
    queue = kind.make()
    size, is_closed = queue.size(), queue.is_closed()
    assert (size.dtype, size.shape) == (tf.int32, ())
    assert (is_closed.dtype, is_closed.shape) == (tf.bool, ())
    assert sess.run([size, is_closed]) == [0, False]
    assert sess.run(queue.close()) is None
    assert sess.run([size, is_closed]) == [0, True]


@pytest.mark.parametrize("value", [1, 0, "a", None])
def test_cancel_pending_enqueues_must_be_a_bool(kind, value):
    text = f"Expected bool for argument 'cancel_pending_enqueues' not {value!r}."
    with pytest.raises(TypeError, match=re.escape(text)):
        kind.make().close(value)


def test_enqueue_into_a_closed_queue_fails(kind, sess, queue):
    text = re.escape(f"{kind.name} 'shared' is closed.")
    with pytest.raises(CANCELLED, match=text):
        sess.run(queue.enqueue(kind.element(4)))
    with pytest.raises(CANCELLED, match=text):
        sess.run(queue.enqueue_many(kind.rows([4, 5])))
    assert sess.size(queue) == 3


def test_empty_batch_can_be_enqueued_into_a_closed_queue(kind, sess, queue):
    sess.run(queue.enqueue_many(kind.rows([])))


def test_closed_queue_can_be_drained_and_then_ends(kind, sess, queue):
    assert numbers(kind, sess.run(queue.dequeue_many(3))) == [1, 2, 3]
    for operation in (queue.dequeue(), queue.dequeue_many(1), queue.dequeue_up_to(1)):
        with pytest.raises(EXHAUSTED, match=insufficient(kind, 1, 0)):
            sess.run(operation)


def test_batch_that_is_too_large_dequeues_nothing(kind, sess, queue):
    with pytest.raises(EXHAUSTED, match=insufficient(kind, 5, 3)):
        sess.run(queue.dequeue_many(5))
    assert sess.size(queue) == 3


def test_dequeue_up_to_returns_the_rest(kind, sess, queue):
    """A priority queue also returns the rest, which TensorFlow loses."""
    assert numbers(kind, sess.run(queue.dequeue_up_to(5))) == [1, 2, 3]
    assert sess.size(queue) == 0


def test_dequeue_up_to_returns_at_most_the_requested_number(kind, sess, queue):
    first = numbers(kind, sess.run(queue.dequeue_up_to(2)))
    rest = numbers(kind, sess.run(queue.dequeue_up_to(2)))
    assert (len(first), sorted([*first, *rest])) == (2, [1, 2, 3])


def test_queue_can_be_closed_once_but_cancelled_repeatedly(kind, sess, queue):
    for _ in range(2):
        with pytest.raises(CANCELLED, match=re.escape("Queue 'shared' is already closed.")):
            sess.run(queue.close())
        sess.run(queue.close(cancel_pending_enqueues=True))
    assert sess.run(queue.is_closed())


def test_cancelled_queue_is_closed(kind, sess):
    queue = kind.make()
    sess.run(queue.close(cancel_pending_enqueues=True))
    with pytest.raises(CANCELLED, match=r"is already closed\."):
        sess.run(queue.close())


def test_closed_queue_is_open_in_a_new_session(kind, sess, queue):
    with tf.Session() as other:
        assert not other.run(queue.is_closed())
        other.run(queue.enqueue(kind.element(1)))
    assert sess.run(queue.is_closed())


def test_messages_without_a_shared_name_name_the_operation(kind, sess):
    queue = kind.make(name="examples")
    sess.run(queue.close())
    with pytest.raises(EXHAUSTED, match=rf"{kind.name} '_\d+_examples' is closed and has"):
        sess.run(queue.dequeue())
    with pytest.raises(CANCELLED, match=r"Queue '_\d+_examples' is already closed\."):
        sess.run(queue.close())


def test_error_names_the_failed_operation(kind, sess, queue):
    dequeue = queue.dequeue_many(9, name="take")
    with pytest.raises(EXHAUSTED) as caught:
        sess.run(tf.identity(kind.components(dequeue)[0]))
    assert caught.value.op.name == caught.value.node_def.name == "take"
    assert caught.value.error_code == tf.errors.OUT_OF_RANGE


def test_close_can_follow_an_enqueue_in_one_run(kind, sess):
    queue = kind.make()
    with tf.control_dependencies([queue.enqueue(kind.element(1))]):
        close = queue.close()
    sess.run(close)
    assert sess.run([queue.size(), queue.is_closed()]) == [1, True]
