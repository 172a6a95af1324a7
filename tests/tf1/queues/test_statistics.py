"""The statistics of a queue, without a graph and in a session."""

import dataclasses

import pytest

import headrace.tf1 as tf
from headrace.tf1.queues import FIFOQueue, QueueStatistics


def test_statistics_count_elements_and_waiting_calls(blocked):
    queue = FIFOQueue(2, "int64", shapes=())
    queue.enqueue_many([[0, 1]])
    enqueue = blocked(queue, lambda: queue.enqueue(2))
    stats = queue.stats
    assert dataclasses.replace(stats, enqueue_blocked_seconds=0.0) == QueueStatistics(
        size=2,
        capacity=2,
        is_closed=False,
        num_enqueued=2,
        num_dequeued=0,
        num_waiting_enqueues=1,
        num_waiting_dequeues=0,
        enqueue_blocked_seconds=0.0,
        dequeue_blocked_seconds=0.0,
    )
    assert queue.stats.enqueue_blocked_seconds > stats.enqueue_blocked_seconds > 0
    queue.dequeue_many(3)
    enqueue.result()
    stats = queue.stats
    assert (stats.size, stats.num_enqueued, stats.num_dequeued) == (0, 3, 3)
    assert stats.num_waiting_enqueues == 0
    waited = stats.dequeue_blocked_seconds
    dequeue = blocked(queue, lambda: queue.dequeue(10.0))
    assert queue.stats.num_waiting_dequeues == 1
    queue.close()
    with pytest.raises(tf.errors.OutOfRangeError):
        dequeue.result()
    assert queue.stats.is_closed
    assert queue.stats.dequeue_blocked_seconds > waited


def test_returned_batch_does_not_count_as_dequeued():
    queue = FIFOQueue(9, "int64", shapes=())
    queue.enqueue(0)
    with pytest.raises(TimeoutError):
        queue.dequeue_many(2, timeout=0)
    assert (queue.stats.num_dequeued, queue.stats.size) == (0, 1)


def test_statistics_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FIFOQueue(1, "int64").stats.size = 3


def test_session_returns_the_statistics_of_a_graph_queue():
    queue = tf.FIFOQueue(5, tf.int64, shapes=())
    with tf.Session() as session:
        assert session.queue_statistics(queue).size == 0
        session.run(queue.enqueue_many([[1, 2, 3]]))
        stats = session.queue_statistics(queue)
        assert (stats.size, stats.capacity, stats.num_enqueued) == (3, 5, 3)


def test_queue_selected_at_run_time_has_no_statistics():
    queues = [tf.FIFOQueue(5, tf.int64, shapes=()) for _ in range(2)]
    chosen = tf.QueueBase.from_list(tf.constant(1), queues)
    with tf.Session() as session, pytest.raises(TypeError, match="is chosen at run time"):
        session.queue_statistics(chosen)
