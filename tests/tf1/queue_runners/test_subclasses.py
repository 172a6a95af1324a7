"""Subclasses of `QueueRunner` as in TensorFlow 1 programs, which use its private names."""

import logging
import threading
import weakref

import pytest

import headrace.tf1 as tf

TIMEOUT = 10.0
OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))


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


class FeedingQueueRunner(tf.train.QueueRunner):
    """Feeds results of Python functions, as TensorFlow's own feeding runners do.

    It creates its threads itself, and counts them with private names of `QueueRunner`.
    """

    def __init__(self, queue=None, enqueue_ops=None, feed_fns=None):
        ends = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
        super().__init__(queue, enqueue_ops, queue_closed_exception_types=ends)
        self._feed_fns = feed_fns

    def _run(self, sess, enqueue_op, feed_fn, coord=None):
        if coord:
            coord.register_thread(threading.current_thread())
        decremented = False
        try:
            while True:
                if coord and coord.should_stop():
                    break
                try:
                    sess.run(enqueue_op, feed_dict=feed_fn())
                except self._queue_closed_exception_types:
                    with self._lock:
                        self._runs_per_session[sess] -= 1
                        decremented = True
                        if self._runs_per_session[sess] == 0:
                            try:
                                sess.run(self._close_op)
                            except Exception as e:
                                logging.debug("Ignored exception: %s", e)
                    return
        except Exception as e:
            if coord:
                coord.request_stop(e)
            else:
                logging.error("Exception in QueueRunner: %s", e)
                with self._lock:
                    self._exceptions_raised.append(e)
                raise
        finally:
            if not decremented:
                with self._lock:
                    self._runs_per_session[sess] -= 1

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        with self._lock:
            try:
                if self._runs_per_session[sess] > 0:
                    return []
            except KeyError:
                pass
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(target=self._run, args=(sess, op, feed_fn, coord))
            for op, feed_fn in zip(self.enqueue_ops, self._feed_fns, strict=True)
        ]
        if coord:
            threads.append(
                threading.Thread(target=self._close_on_stop, args=(sess, self._cancel_op, coord))
            )
        for thread in threads:
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads


class CustomRunner(tf.train.QueueRunner):
    """Feeds the numbers of an iterator: only `_run` is its own."""

    def __init__(self, queue, placeholder, numbers):
        super().__init__(queue, [queue.enqueue(placeholder)])
        self._placeholder = placeholder
        self._numbers = numbers

    def _run(self, sess, enqueue_op, coord=None):
        try:
            for number in self._numbers:
                if coord and coord.should_stop():
                    return
                sess.run(enqueue_op, feed_dict={self._placeholder: number})
            sess.run(self._close_op)
        finally:
            with self._lock:
                self._runs_per_session[sess] -= 1


def make_queue(capacity=10):
    return tf.FIFOQueue(capacity, [tf.int32], shapes=[()], name="queue")


def drain(sess, queue):
    """Dequeues until the queue is closed and empty."""
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


def feeding_runner(queue, limit, error=None):
    """A runner of two threads, each of which feeds 0, 1, ... and then raises an error or ends."""
    error = error or tf.errors.OutOfRangeError(None, None, "end")
    placeholder = tf.placeholder(tf.int32, [])

    def feeds():
        numbers = iter(range(limit))

        def feed():
            for number in numbers:
                return {placeholder: number}
            raise error

        return feed

    return FeedingQueueRunner(queue, [queue.enqueue(placeholder)] * 2, [feeds(), feeds()])


def failing_numbers(error):
    yield from range(3)
    raise error


def test_private_names_match_tensorflow():
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    assert isinstance(runner._runs_per_session, weakref.WeakKeyDictionary)
    assert runner._queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert runner._queue is queue
    assert runner._enqueue_ops == runner.enqueue_ops
    assert runner._close_op is runner.close_op
    assert runner._cancel_op is runner.cancel_op
    assert runner._exceptions_raised == []
    with runner._lock:
        assert runner._lock.locked()


def test_create_threads_runs_the_method_of_a_subclass(coord):
    queue, placeholder = make_queue(), tf.placeholder(tf.int32, [])
    runner = CustomRunner(queue, placeholder, range(25))
    tf.train.add_queue_runner(runner)
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        assert [thread.name for thread in threads] == [
            "QueueRunnerThread-queue-queue_enqueue",
            "QueueRunnerThread-queue-close_on_stop",
        ]
        elements, end = drain(sess, queue)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
    assert elements == list(range(25))
    assert end.__cause__ is None


@pytest.mark.parametrize("has_coordinator", [False, True])
def test_feeding_runner_works_unchanged(has_coordinator, coord):
    queue = make_queue(capacity=3)
    runner = feeding_runner(queue, 20)
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord if has_coordinator else None, start=True)
        assert runner.create_threads(sess, coord) == []
        elements, end = drain(sess, queue)
        coord.request_stop()
        join_all(threads)
        assert runner._runs_per_session[sess] == 0
    assert sorted(elements) == sorted([*range(20), *range(20)])
    assert end.__cause__ is None


def test_error_in_a_feeding_function_reaches_the_consumer_and_join(coord):
    queue = make_queue()
    error = KeyError("no such picture")
    with tf.Session() as sess:
        threads = feeding_runner(queue, 2, error).create_threads(sess, coord, start=True)
        elements, end = drain(sess, queue)
        assert set(elements) <= {0, 1}
        assert end.__cause__ is error
        assert "because a queue runner failed: KeyError: 'no such picture'" in str(end)
        with pytest.raises(KeyError, match="no such picture"):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_stop_ends_a_feeding_runner(coord):
    queue = make_queue(capacity=1)
    with tf.Session() as sess:
        threads = feeding_runner(queue, 1_000_000).create_threads(sess, coord, start=True)
        sess.run(queue.dequeue_many(5), options=OPTIONS)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), GeneratorExit()])
def test_exception_in_a_subclass_reaches_the_consumer_and_join(error, coord):
    queue, placeholder = make_queue(), tf.placeholder(tf.int32, [])
    runner = CustomRunner(queue, placeholder, failing_numbers(error))
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        elements, end = drain(sess, queue)
        assert elements == [0, 1, 2]
        assert end.__cause__ is error
        with pytest.raises(type(error)):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_error_in_a_subclass_closes_the_queue_without_a_coordinator(thread_errors):
    queue, placeholder = make_queue(), tf.placeholder(tf.int32, [])
    error = ValueError("bad")
    runner = CustomRunner(queue, placeholder, failing_numbers(error))
    with tf.Session() as sess:
        join_all(runner.create_threads(sess, start=True))
        elements, end = drain(sess, queue)
    assert elements == [0, 1, 2]
    assert end.__cause__ is error
    assert runner.exceptions_raised == thread_errors == [error]


def test_subclass_that_returns_leaves_its_queue_open_and_can_run_again():
    queue = make_queue()

    class OneEpoch(tf.train.QueueRunner):
        def _run(self, sess, enqueue_op, coord=None):
            sess.run(enqueue_op)  # It counts nothing.

    runner = OneEpoch(queue, [queue.enqueue_many([[1, 2]])])
    with tf.Session() as sess:
        for _ in range(2):
            threads = runner.create_threads(sess, start=True)
            assert len(threads) == 1
            join_all(threads)
        assert sess.run(queue.dequeue_many(4), options=OPTIONS).tolist() == [1, 2, 1, 2]
        assert not sess.run(queue.is_closed())


def test_subclass_can_call_the_base_method(coord):
    queue = make_queue()
    names = []

    class Named(tf.train.QueueRunner):
        def _run(self, sess, enqueue_op, coord=None):
            names.append(threading.current_thread().name)
            super()._run(sess, enqueue_op, coord)

        def _close_on_stop(self, sess, cancel_op, coord):
            super()._close_on_stop(sess, cancel_op, coord)
            names.append(threading.current_thread().name)

    runner = Named(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        sess.run(queue.dequeue_many(50), options=OPTIONS)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
        assert sess.run(queue.is_closed())
    assert names == [thread.name for thread in threads]


def test_program_can_run_the_body_of_a_runner_in_its_own_threads(coord):
    queue = make_queue(capacity=2)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        runner._runs_per_session[sess] = 1
        filling = threading.Thread(target=runner._run, args=(sess, runner.enqueue_ops[0], coord))
        closing = threading.Thread(
            target=runner._close_on_stop, args=(sess, runner.cancel_op, coord)
        )
        filling.start()
        closing.start()
        sess.run(queue.dequeue_many(5), options=OPTIONS)
        coord.request_stop()
        join_all([filling, closing])
        assert runner._runs_per_session[sess] == 0


def test_subclass_can_override_the_setup():
    class NoDefinition(tf.train.QueueRunner):
        def _init_from_proto(self, queue_runner_def, import_scope=None):
            raise NotImplementedError("cannot be made of a definition")

    queue = make_queue()
    definition = NoDefinition(queue, [queue.enqueue(1)]).to_proto()
    with pytest.raises(NotImplementedError, match="of a definition"):
        NoDefinition(queue_runner_def=definition)


def test_coordinator_lock_can_be_acquired(coord):
    with coord._lock:
        assert not coord.should_stop()
        coord.request_stop()
    assert coord.should_stop()


def test_graph_can_switch_to_thread_local_stacks():
    graph = tf.Graph()
    graph.switch_to_thread_local()
    with graph.as_default(), tf.name_scope("scope"):
        assert tf.constant(1).op.name == "scope/Const"
