"""Runners that pause between two steps: their behaviour during and after the pause."""

import gc
import threading
import weakref

import pytest
from tests.calls import Call, wait_until
from tests.tf1.checkpoint.conftest import open_session, running

import headrace.tf1 as tf
from headrace.tf1 import checkpoint
from headrace.tf1.checkpoint.pause import paused


def make_counting(num_threads=1, capacity=3):
    """A runner that counts its steps after each enqueue."""
    counter = tf.Variable(0)
    queue = tf.FIFOQueue(capacity, [tf.int32], [[]], name="numbers")
    with tf.control_dependencies([queue.enqueue([7])]):
        count = counter.assign_add(1, use_locking=True)
    runner = tf.train.QueueRunner(queue, [count.op] * num_threads)
    tf.train.add_queue_runner(runner)
    return counter, queue


@pytest.fixture
def cancelled(monkeypatch):
    """The errors of threads without a coordinator, which a closed session cancels."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_type))
    yield
    assert errors == [tf.errors.CancelledError]


def is_full(session, queue):
    return session.queue_statistics(queue).num_waiting_enqueues > 0


@pytest.mark.parametrize("num_threads", [1, 4])
def test_step_finishes_even_if_the_queue_is_full(num_threads):
    counter, queue = make_counting(num_threads)
    size = queue.size()
    with open_session() as session, running(session):
        waiting = session.queue_statistics
        wait_until(lambda: waiting(queue).num_waiting_enqueues == num_threads)
        assert session.run([counter, size]) == [3, 3]
        with paused(session):
            assert session.run([counter, size]) == [3 + num_threads, 3]
            assert waiting(queue).num_waiting_enqueues == 0
        # They do not continue before their elements are in the queue.
        wait_until(lambda: waiting(queue).num_waiting_enqueues == num_threads)
        assert session.run([counter, size]) == [3 + num_threads, 3]
        session.run(queue.dequeue_many(num_threads))
        wait_until(lambda: waiting(queue).num_waiting_enqueues == num_threads)
        assert session.run([counter, size]) == [3 + num_threads, 3]


def test_stop_ends_a_pause():
    counter, queue = make_counting()
    with open_session() as session, running(session) as coord:
        wait_until(lambda: is_full(session, queue))
        with paused(session):
            coord.request_stop()
            coord.join()
            assert session.run(counter) == 4


@pytest.mark.usefixtures("cancelled")
def test_closing_the_session_ends_a_pause():
    _, queue = make_counting()
    with open_session() as session:
        threads = tf.train.start_queue_runners(session)
        wait_until(lambda: is_full(session, queue))
        with paused(session):
            session.close()
            for thread in threads:
                thread.join()


def test_thread_started_during_a_pause_waits_before_its_first_step():
    counter, queue = make_counting()
    [runner] = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    with open_session() as session, paused(session), running(session):
        threads = runner.filling_threads(session)
        assert len(threads) == 1
        wait_until(lambda: all(map(session.runners.pausing.is_resting, threads)))
        assert session.run([counter, queue.size()]) == [0, 0]


@pytest.mark.usefixtures("cancelled")
def test_runners_without_a_coordinator_pause_too(path):
    counter, queue = make_counting()
    dequeue = queue.dequeue()
    with open_session() as session:
        threads = tf.train.start_queue_runners(session)
        session.run(dequeue)
        checkpoint.save(session, path)
        taken = session.run(counter)
        for _ in range(5):
            session.run(dequeue)
        wait_until(lambda: session.run(counter) > taken)
        session.close()
        for thread in threads:
            thread.join()


def test_error_in_the_last_step_reaches_the_coordinator(path):
    value = tf.placeholder(tf.int32, [])
    first = tf.FIFOQueue(9, [tf.int32], [[]])
    enqueue = first.enqueue(value)
    divided = tf.train.batch([tf.constant(6) // first.dequeue()], 1, capacity=1)
    with open_session() as session:
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coord)
        session.run(enqueue, {value: 0})
        coord.wait_for_stop()
        with pytest.raises(tf.errors.InvalidArgumentError):
            coord.join()
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed by a stop"):
            checkpoint.save(session, path)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(divided)


def test_waiting_consumer_without_elements_can_keep_waiting(session, path):
    queue = tf.FIFOQueue(9, [tf.int32], [[]])
    enqueue, dequeue = queue.enqueue([5]), queue.dequeue()
    call = Call(lambda: session.run(dequeue))
    wait_until(lambda: session.queue_statistics(queue).num_waiting_dequeues == 1)
    checkpoint.save(session, path)
    session.run(enqueue)
    assert call.result() == 5


def test_threads_save_one_at_a_time(lines, session, tmp_path):
    with running(session):
        wait_until(lambda: session.run(lines.size) == 3)
        paths = [tmp_path / str(number) for number in range(4)]
        calls = [Call(lambda path=path: checkpoint.save(session, path)) for path in paths]
        for call in calls:
            call.result()
        for path in paths:
            with open_session() as other:
                checkpoint.restore(other, path)
                assert other.run(lines.size) == 3


def test_runners_that_feed_each_other_pause_together(session, path):
    """Elements circulate between two queues."""
    one, two = (tf.FIFOQueue(3, [tf.int32], [[]], name=name) for name in ("one", "two"))
    fill = one.enqueue_many([[1, 2, 3]])
    for source, target in ((one, two), (two, one)):
        runner = tf.train.QueueRunner(target, [target.enqueue(source.dequeue())])
        tf.train.add_queue_runner(runner)
    sizes = one.size() + two.size()
    session.run(fill)
    with running(session):
        for _ in range(20):
            checkpoint.save(session, path)
    with open_session() as other:
        checkpoint.restore(other, path)
        assert other.run(sizes) == 3


def test_pause_keeps_no_session_alive(lines, path):
    session = tf.Session()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    threads = tf.train.start_queue_runners(session)
    checkpoint.save(session, path)
    alive = weakref.ref(session)
    del session
    gc.collect()
    assert alive() is None
    for thread in threads:
        thread.join()


def test_duplicate_runner_pauses_with_the_original(lines, session, path):
    for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        tf.train.QueueRunner.from_proto(runner.to_proto())
    with running(session):
        for _ in range(20):
            session.run(lines.line)
            checkpoint.save(session, path)
