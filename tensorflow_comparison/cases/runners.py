"""Queue runners: subclasses in programs, and the ends of their threads."""

import threading
from collections.abc import Callable
from typing import Any

from tensorflow_comparison.table import case

TIMEOUT_MS = 3000


def make_queue(tf: Any, capacity: int = 10) -> Any:
    """Creates a queue of integers."""
    return tf.FIFOQueue(capacity, [tf.int32], shapes=[()], name="queue")


def drained(tf: Any, session: Any, queue: Any) -> list[Any]:
    """Returns the elements of a queue until a dequeue fails or times out, and the error's class."""
    dequeue = queue.dequeue()
    values: list[Any] = []
    try:
        while True:
            values.append(session.run(dequeue, options=tf.RunOptions(timeout_in_ms=TIMEOUT_MS)))
    except tf.errors.OpError as error:
        return [*values, type(error).__name__]


def without_tracebacks(program: Callable[[], Any]) -> Any:
    """Runs a program whose threads end with errors, without printing them."""
    hook, threading.excepthook = threading.excepthook, lambda args: None
    try:
        return program()
    finally:
        threading.excepthook = hook


def feeding_runner(tf: Any, queue: Any, numbers: Any) -> Any:
    """A runner that feeds numbers. It uses private names of TensorFlow's class."""
    placeholder = tf.placeholder(tf.int32, [])

    class FeedingRunner(tf.train.QueueRunner):  # type: ignore[misc]
        def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
            try:
                for number in numbers:
                    if coord and coord.should_stop():
                        return
                    sess.run(enqueue_op, feed_dict={placeholder: number})
                with self._lock:
                    if self._runs_per_session[sess] == 1:
                        sess.run(self._close_op)
            except self._queue_closed_exception_types:
                pass
            finally:
                with self._lock:
                    self._runs_per_session[sess] -= 1

    return FeedingRunner(queue, [queue.enqueue(placeholder)])


@case((False,), (True,))
def fed_by_a_subclass(tf: Any, has_coordinator: bool) -> Any:
    """A subclass whose threads are created by `create_threads`."""
    queue = make_queue(tf, 2)
    runner = feeding_runner(tf, queue, range(7))
    coord = tf.train.Coordinator() if has_coordinator else None
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        again = runner.create_threads(session, coord)
        values = drained(tf, session, queue)
        if coord:
            coord.request_stop()
        for thread in threads:
            thread.join()
        left = runner._runs_per_session[session]
    return values, again, left, [thread.name for thread in threads], runner.exceptions_raised


@case()
def body_run_by_the_program(tf: Any) -> Any:
    """The work of a filling thread, called by the program."""
    queue = make_queue(tf)
    counter = tf.Variable(0, name="counter")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([counter.count_up_to(3)])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        runner._runs_per_session[session] = 1
        runner._run(session, runner.enqueue_ops[0])
        return drained(tf, session, queue), runner._runs_per_session[session]


@case()
def stop_awaited_by_the_program(tf: Any) -> Any:
    """The work of the thread that waits for the stop, called by the program."""
    queue = make_queue(tf)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord = tf.train.Coordinator()
    coord.request_stop()
    with tf.Session() as session:
        runner._close_on_stop(session, runner._cancel_op, coord)
        return session.run(queue.is_closed())


@case()
def private_names(tf: Any) -> Any:
    """Private names that programs use."""
    queue = make_queue(tf)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord = tf.train.Coordinator()
    with coord._lock, runner._lock:
        return (
            type(runner._runs_per_session).__name__,
            [error.__name__ for error in runner._queue_closed_exception_types],
            [op.name for op in runner._enqueue_ops],
            (runner._close_op.name, runner._cancel_op.name, runner._queue.name),
            runner._exceptions_raised,
        )


@case()
def failed_without_a_coordinator(tf: Any) -> Any:
    """A thread whose failure is not reported anywhere."""

    def program() -> Any:
        queue = make_queue(tf)
        runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.Variable(1)])])
        with tf.Session() as session:
            for thread in runner.create_threads(session, start=True):
                thread.join()
            values = drained(tf, session, queue)
        return values, [type(error).__name__ for error in runner.exceptions_raised]

    return without_tracebacks(program)


@case()
def variable_in_place_of_an_operation(tf: Any) -> Any:
    """A runner that fetches an uninitialized variable."""

    def program() -> Any:
        queue, coord = make_queue(tf), tf.train.Coordinator()
        runner = tf.train.QueueRunner(queue, [tf.Variable(1)])
        with tf.Session() as session:
            threads = runner.create_threads(session, coord, start=True)
            values = drained(tf, session, queue)
            try:
                coord.join(threads)
            except Exception as error:
                values.append(type(error).__name__)
        return values

    return without_tracebacks(program)


@case((ValueError,), (IndexError,))
def queue_closed_type_that_is_no_error_of_a_run(tf: Any, kind: Any) -> Any:
    """A tuple with one class, for which TensorFlow's message shows the class."""
    queue = make_queue(tf)
    try:
        tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=(kind,))
    except TypeError as error:
        return str(error)


@case((False,), (True,))
def failed_with_a_coordinator(tf: Any, is_subclass: bool) -> Any:
    """A thread that fails, and its coordinator."""

    def failing() -> Any:
        yield 1
        raise ValueError("no more")

    queue = make_queue(tf)
    if is_subclass:
        runner = feeding_runner(tf, queue, failing())
    else:
        runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.Variable(1)])])
    coord = tf.train.Coordinator()

    def program() -> Any:
        with tf.Session() as session:
            threads = runner.create_threads(session, coord, start=True)
            threads[0].join()
            values = drained(tf, session, queue)
            coord.request_stop()
            try:
                coord.join(threads)
            except Exception as error:
                values.append(type(error).__name__)
        return values

    return without_tracebacks(program)


@case()
def without_rows_and_epochs(tf: Any) -> Any:
    """A producer of no rows, without a limit on epochs."""
    queue = tf.train.input_producer(tf.zeros([0], tf.int32))
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = tf.train.start_queue_runners(session, coord)
        values = drained(tf, session, queue)
        coord.request_stop()
        try:
            coord.join(threads)
        except tf.errors.OpError as error:
            values.append(type(error).__name__)
    return values
