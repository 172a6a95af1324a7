"""Signal handlers that run while the main thread waits may raise errors and may wait."""

import os
import signal
import threading
import traceback

import pytest

import headrace.tf1 as tf
from headrace.tf1.queues import FIFOQueue

TIMEOUT = 10.0


class Abandoned(BaseException):
    """Another class that does not derive from Exception."""


@pytest.fixture
def on_signal():
    """Makes a function the handler of a signal."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda function: signal.signal(signal.SIGUSR1, lambda *_: function())
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def when(in_thread):
    """Calls a function in a thread once a condition holds, and raises its errors at the end."""
    calls = []

    def when(condition, then):
        def wait():
            for _ in range(int(TIMEOUT * 1000)):
                if condition():
                    return then()
                threading.Event().wait(0.001)
            raise AssertionError("it did not happen in time")

        calls.append(in_thread(wait))

    yield when
    for call in calls:
        call.result()


def send():
    os.kill(os.getpid(), signal.SIGUSR1)


def is_waiting(session, queue):
    if isinstance(queue, FIFOQueue):
        return queue.stats.num_waiting_dequeues > 0
    return session.queue_statistics(queue).num_waiting_dequeues > 0


def dequeue(session, queue):
    return queue, lambda: session.run(queue.dequeue())


def dequeue_and_compute(session, queue):
    return queue, lambda: session.run(queue.dequeue() + 1)


def dequeue_and_call(session, queue):
    return queue, lambda: session.run(tf.py_func(lambda x: x, [queue.dequeue()], tf.int32))


def eager(session, queue):
    queue = FIFOQueue(1, "int32", shapes=())
    return queue, queue.dequeue


WAITS = [dequeue, dequeue_and_compute, dequeue_and_call, eager]
RAISED = [
    ValueError("the handler's"),
    LookupError("the handler's"),
    StopIteration("the handler's"),
    TimeoutError("the handler's"),
    tf.errors.OutOfRangeError(None, None, "the handler's"),
    Abandoned("the handler's"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("wait", WAITS)
def test_exception_in_a_signal_handler_is_raised_unchanged(
    session, queue, on_signal, when, wait, error
):
    def handle():
        raise error

    on_signal(handle)
    queue, call = wait(session, queue)
    when(lambda: is_waiting(session, queue), send)
    with pytest.raises(type(error)) as caught:
        call()
    assert caught.value is error
    assert error.__cause__ is error.__context__ is None
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][-1] == "handle"


@pytest.mark.parametrize("error", RAISED[:2], ids=lambda error: type(error).__name__)
def test_exception_in_a_signal_handler_ends_a_loop_in_the_main_thread(
    session, queue, on_signal, when, error
):
    def handle():
        raise error

    on_signal(handle)
    op = queue.dequeue().op
    when(lambda: is_waiting(session, queue), send)
    with pytest.raises(type(error)) as caught:
        session.make_loop(op, session.make_stop_flag())()
    assert caught.value is error


@pytest.mark.parametrize("inner", [dequeue, dequeue_and_compute, dequeue_and_call, eager])
@pytest.mark.parametrize("outer", [dequeue, dequeue_and_compute, dequeue_and_call])
def test_signal_handler_can_wait_in_the_waiting_thread(
    session, queue, on_signal, when, outer, inner
):
    """The outer wait is served while the inner one lasts, and has to return afterwards."""
    inside, wait_inside = inner(session, tf.FIFOQueue(1, [tf.int32], [()], name="inside"))
    _, wait_outside = outer(session, queue)
    value = tf.placeholder(tf.int32, [])
    enqueue = queue.enqueue(value)
    seen = []
    on_signal(lambda: seen.append(wait_inside()))

    def serve():
        session.run(enqueue, {value: 1})
        if isinstance(inside, FIFOQueue):
            inside.enqueue(7)
        else:
            session.run(inside.enqueue(7))

    when(lambda: is_waiting(session, queue), send)
    when(lambda: is_waiting(session, inside), serve)
    assert wait_outside() in (1, 2)
    assert seen in ([7], [8])


def test_function_can_wait_in_the_thread_of_its_run(session, queue, when):
    """Other waits of the run are served while the function waits."""
    inside = FIFOQueue(1, "int64", shapes=())
    value = tf.py_func(inside.dequeue, [], tf.int64)
    with tf.control_dependencies([value]):
        late = tf.constant(5)
    fetches = [queue.dequeue(), value, late]
    enqueue = queue.enqueue(1)

    def serve():
        session.run(enqueue)
        inside.enqueue(7)

    when(lambda: is_waiting(session, inside), serve)
    assert session.run(fetches) == [1, 7, 5]
