from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace.tf1 as tf

TIMEOUT_MS = 10_000
"""After this long a run that should have ended has failed."""


def initialize_variables(session: Any) -> None:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])


class Pipeline:
    """The standard program around a graph: start the runners, fetch to the end, stop, join.

    Attributes:
        end: The error that ended fetching, if any.
        failure: The error that `Coordinator.join` raised.
    """

    def __init__(self) -> None:
        self.end: tf.errors.OpError | None = None
        self.failure: Exception | None = None

    def values(
        self,
        fetches: Any,
        limit: int = 1000,
        setup: Callable[[Any], None] = initialize_variables,
        then: Callable[[Any], None] = lambda session: None,
    ) -> list[Any]:
        """Returns the fetched values until the end of the input, or until `limit`.

        `setup` is called with the session before any thread starts, `then` after all have ended.
        """
        values = []
        config = tf.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS)
        with tf.Session(config=config) as session:
            setup(session)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            try:
                while len(values) < limit:
                    values.append(session.run(fetches))
            except tf.errors.OutOfRangeError as error:
                self.end = error
            finally:
                coord.request_stop()
                try:
                    coord.join(threads, stop_grace_period_secs=TIMEOUT_MS / 1000)
                except Exception as error:
                    self.failure = error
            then(session)
        return values


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline()


@pytest.fixture
def numbers() -> Callable[..., Any]:
    """Creates a tensor that returns 0, 1, ... in order, each once."""

    def numbers(limit: int) -> Any:
        source = tf.train.range_input_producer(limit, num_epochs=1, shuffle=False)
        return source.dequeue()

    return numbers


@pytest.fixture
def write_records(tmp_path: Path) -> Callable[..., str]:
    """Writes a TFRecord file and returns its name."""

    def write(name: str, records: list[bytes]) -> str:
        path = tmp_path / name
        with tf.python_io.TFRecordWriter(str(path)) as writer:
            for record in records:
                writer.write(record)
        return str(path)

    return write
