"""Runs that only move an element keep the GIL, except while they wait."""

import sys
import threading
from collections.abc import Iterator

import pytest

import headrace.tf1 as tf
from headrace.pipeline.functions.python_functions import has_gil

TIMEOUT = 30
NUM_RUNS = 5_000


@pytest.fixture
def long_turns() -> Iterator[None]:
    """Lets threads take turns only where one releases the interpreter's lock."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.skipif(not has_gil(), reason="without the GIL, others run at any time")
@pytest.mark.usefixtures("long_turns")
def test_brief_queue_runs_do_not_release_the_gil() -> None:
    queue = tf.FIFOQueue(100, [tf.int64], shapes=[()])
    value = tf.placeholder(tf.int64, [])
    enqueue, dequeue = queue.enqueue(value), queue.dequeue()
    has_started, may_go, has_run = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        has_started.set()
        may_go.wait(TIMEOUT)
        has_run.set()

    with tf.Session() as session:
        session.run(enqueue, {value: -1})
        session.run(dequeue)
        thread = threading.Thread(target=other)
        thread.start()
        has_started.wait(TIMEOUT)
        may_go.set()
        numbers = []
        for number in range(NUM_RUNS):
            session.run(enqueue, {value: number})
            numbers.append(session.run(dequeue))
        has_run_meanwhile = has_run.is_set()
        thread.join(TIMEOUT)
    assert numbers == list(range(NUM_RUNS))
    assert not has_run_meanwhile
    assert has_run.is_set()


@pytest.mark.usefixtures("long_turns")
def test_waiting_run_lets_other_python_run() -> None:
    queue = tf.FIFOQueue(1, [tf.int64], shapes=[()])
    value = tf.placeholder(tf.int64, [])
    enqueue, dequeue = queue.enqueue(value), queue.dequeue()
    with tf.Session() as session:

        def produce() -> None:
            for number in range(100):
                session.run(enqueue, {value: number})

        thread = threading.Thread(target=produce)
        thread.start()
        numbers = [session.run(dequeue) for _ in range(100)]
        thread.join(TIMEOUT)
    assert numbers == list(range(100))
