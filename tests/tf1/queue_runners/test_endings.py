"""Ends of a runner's threads: the queue is closed, and the error is reported."""

import asyncio
import concurrent.futures
import threading

import pytest
from tests.calls import TIMEOUT, wait_until

import headrace.tf1 as tf

OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))


class Panic(BaseException):
    """Represents PyO3's PanicException, which no `except Exception` catches either."""


ENDINGS = [
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    Panic("a kernel panicked"),
    MemoryError("no memory"),
]


@pytest.fixture
def coord():
    coord = tf.train.Coordinator()
    yield coord
    coord.request_stop()


@pytest.fixture
def thread_errors(monkeypatch):
    """The errors that ended threads, instead of a warning of pytest."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_value))
    return errors


class RaisingSession(tf.Session):
    """A session whose loops raise an error after some runs."""

    error = None

    def make_loop(self, op, stop_flag):
        def loop():
            for _ in range(3):
                self.run(op)
            raise self.error

        return loop


def make_queue():
    return tf.FIFOQueue(10, [tf.int32], shapes=[()], name="queue")


def drain(sess, queue):
    dequeue, elements = queue.dequeue(), []
    try:
        while True:
            elements.append(int(sess.run(dequeue, options=OPTIONS)))
    except tf.errors.OutOfRangeError as error:
        return elements, error


def join_all(threads):
    for thread in threads:
        thread.join(TIMEOUT)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
def test_coordinator_and_consumer_receive_the_end(error, coord):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with RaisingSession() as sess:
        sess.error = error
        threads = runner.create_threads(sess, coord, start=True)
        elements, end = drain(sess, queue)
        assert elements == [1, 1, 1]
        assert end.__cause__ is error
        with pytest.raises(type(error)):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)
    assert runner.exceptions_raised == []


@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
def test_last_thread_closes_the_queue_without_a_coordinator(error, thread_errors):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2)
    with RaisingSession() as sess:
        sess.error = error
        threads = runner.create_threads(sess, start=True)
        elements, end = drain(sess, queue)
        join_all(threads)
    assert elements == [1] * 6
    assert end.__cause__ is error
    assert runner.exceptions_raised == [error]


@pytest.mark.parametrize("has_coordinator", [False, True])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, Panic])
def test_exit_in_a_python_function_wakes_the_consumer(error, has_coordinator, coord, thread_errors):
    def leave():
        raise error("leaving")

    queue = make_queue()
    value = tf.reshape(tf.py_func(leave, [], tf.int32), [])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(value)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord if has_coordinator else None, start=True)
        elements, end = drain(sess, queue)
        assert elements == []
        assert "leaving" in str(end)
        if has_coordinator:
            with pytest.raises((error, tf.errors.OpError), match="leaving"):
                coord.join(threads, stop_grace_period_secs=TIMEOUT)
        join_all(threads)


def test_error_after_join_is_kept_by_the_runner(coord, thread_errors):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord.join()
    with RaisingSession() as sess:
        sess.error = ValueError("nobody hears of it")
        filling, closing = runner.create_threads(sess, coord, start=True)
        join_all([filling])
        assert drain(sess, queue)[0] == [1, 1, 1]
        coord.request_stop()
        join_all([closing])
    assert runner.exceptions_raised == thread_errors == [sess.error]


def start_but(number, monkeypatch):
    """Lets the start of one thread fail, as if there were too many."""
    start, count = threading.Thread.start, iter(range(100))

    def start_or_fail(thread):
        if next(count) == number:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_coordinator_stops_the_other_threads_if_one_cannot_start(number, coord, monkeypatch):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2)
    with tf.Session() as sess:
        start_but(number, monkeypatch)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            runner.create_threads(sess, coord, start=True)
        assert coord.should_stop()
        _, end = drain(sess, queue)
        assert "because a queue runner failed: RuntimeError: can't start new thread" in str(end)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            coord.join(stop_grace_period_secs=TIMEOUT)


@pytest.mark.parametrize("number", [0, 1])
def test_consumer_wakes_if_a_thread_cannot_start(number, monkeypatch, thread_errors):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2)
    with tf.Session() as sess:
        start_but(number, monkeypatch)
        with pytest.raises(RuntimeError, match="can't start new thread") as caught:
            runner.create_threads(sess, start=True)
        _, end = drain(sess, queue)
        assert end.__cause__ is caught.value


def test_upstream_error_is_the_cause_of_the_consumer_error(coord):
    names = tf.train.string_input_producer(["a", "b"], num_epochs=1)
    batch = tf.train.batch([names.dequeue()], 2)
    with tf.Session() as sess:  # Without local_variables_initializer.
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            sess.run(batch, options=OPTIONS)
        with pytest.raises(tf.errors.FailedPreconditionError) as joined:
            coord.join(threads, stop_grace_period_secs=TIMEOUT)
    assert caught.value.__cause__ is joined.value


def test_upstream_error_is_the_cause_of_consumer_errors_without_a_coordinator(thread_errors):
    names = tf.train.string_input_producer(["a", "b"], num_epochs=1)
    batch = tf.train.batch([tf.train.batch([names.dequeue()], 2)], 2)
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess)
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            sess.run(batch, options=OPTIONS)
        join_all(threads)
    assert [caught.value.__cause__] == thread_errors
    assert isinstance(thread_errors[0], tf.errors.FailedPreconditionError)


def test_end_after_a_stop_has_no_cause(coord):
    queue = make_queue()
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        sess.run(queue.dequeue_many(30), options=OPTIONS)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
        _, end = drain(sess, queue)
    assert end.__cause__ is None
    assert "queue runner failed" not in str(end)


def test_end_of_the_input_has_no_cause_if_another_pipeline_failed(thread_errors):
    failing, ending = make_queue(), make_queue()
    uninitialized = tf.Variable(1, name="uninitialized", collections=[])
    limited = ending.enqueue([tf.Variable(0, name="count").count_up_to(3)])
    runners = [
        tf.train.QueueRunner(failing, [failing.enqueue([uninitialized])]),
        tf.train.QueueRunner(ending, [limited]),
    ]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for runner in runners:
            join_all(runner.create_threads(sess, start=True))
        elements, end = drain(sess, ending)
        _, failure = drain(sess, failing)
    assert elements == [0, 1, 2]
    assert end.__cause__ is None
    assert failure.__cause__ is thread_errors[0]
    assert "It is not in any collection of variables: run its own initializer" in str(failure)


def test_join_without_a_stop_logs_the_missing_stop(coord, monkeypatch, caplog):
    monkeypatch.setattr(tf.train.Coordinator, "patience_secs", 0.01)
    queue = make_queue()
    limited = queue.enqueue([tf.Variable(0, name="count").count_up_to(3)])
    runner = tf.train.QueueRunner(queue, [limited])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = runner.create_threads(sess, coord, start=True)
        assert drain(sess, queue)[0] == [0, 1, 2]
        joining = threading.Thread(target=coord.join, args=(threads,))
        joining.start()
        wait_until(lambda: "Coordinator.join" in caplog.text)
        coord.request_stop()
        join_all([joining])
    assert caplog.messages[-1] == (
        "Coordinator.join: the only threads left are 1 of queue runners, which wait for a stop "
        "that nobody has requested. Call coord.request_stop() before join."
    )


def test_join_of_working_threads_logs_nothing(coord, monkeypatch, caplog):
    monkeypatch.setattr(tf.train.Coordinator, "patience_secs", 0.01)
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        joining = threading.Thread(target=coord.join, args=(threads,))
        joining.start()
        sess.run(queue.dequeue_many(100), options=OPTIONS)
        coord.wait_for_stop(0.2)
        coord.request_stop()
        join_all([joining])
    assert caplog.messages == []
