"""Graphs whose sessions end in every way."""

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import headrace.tf1 as tf
from stress.ended_pipelines import Held, WantedError

_JOIN_SECONDS = 10.0
# A run takes milliseconds. If it takes this long, it hangs.
_OPTIONS = tf.RunOptions(timeout_in_ms=60_000)


def end(way: str, path: Path, number: int, held: Held) -> None:
    """Creates a graph, starts its runners in a session, and ends the session in a given way."""
    calls = _Calls(way)

    def function(value: Any) -> Any:
        return calls.work(value)

    held(calls)
    held(function)
    is_default = way == "reset of the default graph"
    graph = tf.get_default_graph() if is_default else tf.Graph()
    held(graph)
    try:
        with nullcontext() if is_default else graph.as_default():
            batch = _make(path, number, way, function)
            initializer = tf.local_variables_initializer()
        _run(way, tf.Session(graph=graph), initializer, batch, held)
    except (WantedError, KeyboardInterrupt, tf.errors.OpError) as error:
        if not isinstance(error, _RAISING.get(way, ())):
            raise
    else:
        if way in _RAISING:
            raise AssertionError(f"{way}: nothing was raised")
    finally:
        if is_default:
            tf.reset_default_graph()


class _Calls:
    """An object that the Python function refers to."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._num_calls = 0

    def work(self, value: Any) -> Any:
        self._num_calls += 1
        if self._num_calls == 20:
            if self._way == "exception in a Python function":
                raise WantedError
            if self._way == "Ctrl-C during a run":
                os.kill(os.getpid(), signal.SIGINT)
        return value + 1


def _make(path: Path, number: int, way: str, function: Callable[[Any], Any]) -> Any:
    """Returns a batch of a Python function's results for the examples of a file."""
    num_epochs = 1 if way == "to the end" else None
    names = tf.train.string_input_producer([str(path)], num_epochs=num_epochs, seed=number)
    _, record = tf.TFRecordReader().read(names)
    example = tf.parse_single_example(record, {"n": tf.FixedLenFeature([], tf.int64)})
    output = tf.py_func(function, [example["n"]], tf.int64)
    output.set_shape([])
    if number % 2:
        return tf.train.shuffle_batch([output], 8, 64, 16, seed=number, num_threads=2)
    return tf.train.batch([output], 8, capacity=32)


def _run(way: str, sess: Any, initializer: Any, batch: Any, held: Held) -> None:
    held(sess)
    sess.run(initializer)
    coord = None if way == "without a coordinator" else tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        _loop(way, sess, batch)
    finally:
        if way in _STOPPED and coord is not None:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=_JOIN_SECONDS)
        if way in _CLOSED:
            sess.close()


def _loop(way: str, sess: Any, batch: Any) -> None:
    match way:
        case "to the end" | "exception in a Python function" | "Ctrl-C during a run":
            while True:
                sess.run(batch, options=_OPTIONS)
        case "exception in the loop":
            sess.run(batch, options=_OPTIONS)
            raise WantedError
        case "Ctrl-C in the loop":
            sess.run(batch, options=_OPTIONS)
            signal.raise_signal(signal.SIGINT)
        case "never run":
            pass
        case _:
            for _ in range(2):
                sess.run(batch, options=_OPTIONS)


_RAISING: dict[str, type[BaseException] | tuple[type[BaseException], ...]] = {
    "to the end": tf.errors.OutOfRangeError,
    "exception in the loop": WantedError,
    # Returns the error of the failing runner, or of the run that waits for its queue.
    "exception in a Python function": (tf.errors.UnknownError, tf.errors.OutOfRangeError),
    "Ctrl-C in the loop": KeyboardInterrupt,
    "Ctrl-C during a run": KeyboardInterrupt,
}
_STOPPED = frozenset(
    (
        *("to the end", "break", "exception in the loop", "Ctrl-C in the loop"),
        *("exception in a Python function", "Ctrl-C during a run"),
    )
)
_CLOSED = _STOPPED | {"close", "without a coordinator"}

WAYS = (
    "to the end",
    "break",
    "exception in the loop",
    "exception in a Python function",
    "Ctrl-C in the loop",
    "Ctrl-C during a run",
    "close",
    "without a coordinator",
    "garbage collection",
    "reset of the default graph",
    "never run",
)
