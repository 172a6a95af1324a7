"""Helpers for tests of checkpoints: a small program, and sessions for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headrace.tf1 as tf

TIMEOUT_MS = 20_000


class Lines:
    """Passes lines of a file through a queue, draws random numbers, and counts with a variable."""

    def __init__(self, path: Path, capacity: int = 3) -> None:
        self.path = path
        path.write_text("".join(f"line {number}\n" for number in range(50)))
        names = tf.train.string_input_producer([str(path)], num_epochs=2, shuffle=False)
        self.reader = tf.TextLineReader()
        _, line = self.reader.read(names)
        self.queue = tf.RandomShuffleQueue(capacity, 1, [tf.string], [[]], seed=1, name="lines")
        enqueue = self.queue.enqueue([line])
        tf.train.add_queue_runner(tf.train.QueueRunner(self.queue, [enqueue]))
        self.line = self.queue.dequeue()
        self.noise = tf.random_uniform([], seed=3)
        self.counter = tf.Variable(0, name="counter")
        self.count = self.counter.assign_add(1)
        self.size = self.queue.size()


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    return Lines(tmp_path / "lines.txt")


@contextmanager
def open_session() -> Iterator[tf.Session]:
    """A session of the default graph with initialized variables."""
    config = tf.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)
    with tf.Session(config=config) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        yield session


@contextmanager
def running(session: tf.Session, **arguments: Any) -> Iterator[tf.train.Coordinator]:
    """Runs the runners of a session for a while."""
    coord = tf.train.Coordinator()
    tf.train.start_queue_runners(session, coord, **arguments)
    try:
        yield coord
    finally:
        coord.request_stop()
        coord.join()


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with open_session() as session:
        yield session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def take(session: tf.Session) -> Callable[[Any, int], list[Any]]:
    """Runs a fetch several times in the session."""
    return lambda fetches, count: [session.run(fetches) for _ in range(count)]
