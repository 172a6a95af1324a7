"""W6: single queue operations on numbers, with checks, and assembled batches.

`python -m benchmarks.workloads.queues graph headrace run`, for example, runs one measurement.
Producers put numbers into a queue, and the main thread takes them out. Every producer counts from
0, so the output can be checked against the input.
"""

import argparse
import json
import multiprocessing
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from benchmarks.workload import tensorflow1_of

CAPACITY = 4_096
EXAMPLE_BYTES = 3_072
NUM_BATCHES = 32
"""The number of batches that are complete before they are dequeued."""


class Channel(Protocol):
    """A queue under test. Each call moves `batch` numbers."""

    def put(self, first: int) -> None:
        """Enqueues numbers starting with `first`."""

    def get(self) -> int | None:
        """Takes numbers and returns their sum, or None at the end."""

    def end(self) -> None:
        """Closes the queue, so that `get` ends once it is empty. Called after the last `put`."""


def measure(channel: Channel, batch: int, num_producers: int, seconds: float) -> None:
    """Runs a channel for some seconds and prints the result as a line of JSON."""
    is_over = threading.Event()
    counts = [0] * num_producers

    def produce(number: int) -> None:
        put, count = channel.put, 0
        while not is_over.is_set():
            for _ in range(16):
                put(count)
                count += batch
        counts[number] = count

    producers = [threading.Thread(target=produce, args=[n]) for n in range(num_producers)]

    def end() -> None:
        for producer in producers:
            producer.join()
        channel.end()

    ender = threading.Thread(target=end)

    def start() -> None:
        for thread in (*producers, ender):
            thread.start()

    taken, total = drain(channel.get, batch, seconds, start, is_over.set)
    ender.join()
    expected = sum(count * (count - 1) // 2 for count in counts)
    assert (taken, total) == (sum(counts), expected), "elements were lost or doubled"


def drain(
    get: Callable[[], int | None],
    batch: int,
    seconds: float,
    start: Callable[[], None],
    stop: Callable[[], None],
) -> tuple[int, int]:
    """Takes numbers until there are none left, and prints the rate.

    Args:
        get: See `Channel.get`.
        batch: The number of numbers per call.
        seconds: The time after which `stop` is called.
        start: Starts the producers.
        stop: Stops the producers.

    Returns:
        The count and the sum of the numbers.
    """
    cpu = time.process_time()
    begin = time.perf_counter()
    start()
    calls = total = 0
    is_stopped = False
    while (numbers := get()) is not None:
        total += numbers
        calls += 1
        if not is_stopped and calls % 64 == 0 and time.perf_counter() > begin + seconds:
            is_stopped = True
            stop()
    report(calls * batch, time.perf_counter() - begin, time.process_time() - cpu)
    return calls * batch, total


def report(count: int, seconds: float, cpu_seconds: float) -> None:
    """Prints the measurement, including the CPU time of ended child processes."""
    children = os.times()
    cpu_seconds += children.children_user + children.children_system
    print(json.dumps({"count": count, "seconds": seconds, "cpu_seconds": cpu_seconds}))


def time_batches(
    fill: Callable[[], Any],
    take: Callable[[], Any],
    block: np.ndarray[Any, Any],
    batch: int,
    seconds: float,
) -> None:
    """Measures how fast batches are assembled once all elements are in the queue.

    Args:
        fill: Fills a queue with the rows of a block.
        take: Dequeues a batch.
        block: `NUM_BATCHES` batches of examples.
        batch: The number of examples in a batch.
        seconds: How long to measure.
    """
    calls, spent, cpu = 0, 0.0, 0.0
    while spent < seconds:
        fill()
        cpu_begin, begin = time.process_time(), time.perf_counter()
        for _ in range(NUM_BATCHES):
            taken = take()
        spent += time.perf_counter() - begin
        cpu += time.process_time() - cpu_begin
        calls += NUM_BATCHES
        assert np.array_equal(taken, block[-batch:]), "wrong elements"
    report(calls * batch, spent, cpu)


def block_of(batch: int) -> np.ndarray[Any, Any]:
    """Returns examples of `EXAMPLE_BYTES` for some batches."""
    count = NUM_BATCHES * batch * EXAMPLE_BYTES
    return np.arange(count, dtype=np.uint8).reshape(-1, EXAMPLE_BYTES)


class GraphChannel:
    """A FIFO queue that is fed and fetched with `Session.run`, or with prepared callables."""

    def __init__(self, tf: Any, batch: int, has_callables: bool) -> None:
        elements = tf.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
        fed = tf.placeholder(tf.int64, [] if batch == 1 else [batch])
        enqueue = elements.enqueue(fed) if batch == 1 else elements.enqueue_many(fed)
        dequeue = elements.dequeue() if batch == 1 else elements.dequeue_many(batch)
        close = elements.close()
        session = tf.Session()
        self._end_of_data = tf.errors.OutOfRangeError
        self._block = np.arange(batch) if batch > 1 else 0
        self.end = lambda: session.run(close)
        if has_callables:
            self._take = session.make_callable(dequeue)
            self._add = session.make_callable(enqueue, [fed])
        else:
            self._take = lambda: session.run(dequeue)
            self._add = lambda numbers: session.run(enqueue, {fed: numbers})

    def put(self, first: int) -> None:
        """See `Channel`."""
        self._add(first + self._block)

    def get(self) -> int | None:
        """See `Channel`."""
        try:
            return int(self._take().sum())
        except self._end_of_data:
            return None


def measure_runner(tf: Any, batch: int, num_producers: int, seconds: float) -> None:
    """Measures a queue runner's queue. The graph counts the elements."""
    elements = tf.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
    ops = []
    for _ in range(num_producers):
        counter = tf.Variable(-batch, dtype=tf.int64, use_resource=True)
        first = counter.assign_add(batch)
        numbers = first + tf.range(batch, dtype=tf.int64)
        ops.append(elements.enqueue(first) if batch == 1 else elements.enqueue_many(numbers))
    tf.train.add_queue_runner(tf.train.QueueRunner(elements, ops))
    dequeue = elements.dequeue() if batch == 1 else elements.dequeue_many(batch)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()

        def get() -> int | None:
            try:
                return int(session.run(dequeue).sum())
            except tf.errors.OutOfRangeError:
                return None

        taken, total = drain(
            get,
            batch,
            seconds,
            lambda: tf.train.start_queue_runners(session, coord),
            coord.request_stop,
        )
        coord.join()
        if num_producers == 1:
            assert total == taken * (taken - 1) // 2, "elements were lost or doubled"


def measure_graph_batches(tf: Any, batch: int, seconds: float) -> None:
    """Measures batches of a queue in the graph."""
    elements = tf.FIFOQueue(-1, [tf.uint8], shapes=[(EXAMPLE_BYTES,)])
    block = block_of(batch)
    fed = tf.placeholder(tf.uint8, block.shape)
    enqueue, dequeue = elements.enqueue_many(fed), elements.dequeue_many(batch)
    with tf.Session() as session:
        time_batches(
            lambda: session.run(enqueue, {fed: block}),
            lambda: session.run(dequeue),
            block,
            batch,
            seconds,
        )


class StandardChannel:
    """A queue with `put` and `get`. Several numbers are sent as one array."""

    def __init__(self, elements: Any, batch: int) -> None:
        self._elements = elements
        self._block = np.arange(batch) if batch > 1 else None

    def put(self, first: int) -> None:
        """See `Channel`."""
        self._elements.put(first if self._block is None else first + self._block)

    def get(self) -> int | None:
        """See `Channel`."""
        numbers = self._elements.get()
        return int(numbers.sum()) if isinstance(numbers, np.ndarray) else numbers

    def end(self) -> None:
        """See `Channel`."""
        self._elements.put(None)


class EagerChannel:
    """A headrace or TensorFlow queue with `enqueue` and `dequeue`."""

    def __init__(self, elements: Any, batch: int, end_of_data: type[Exception]) -> None:
        self._end_of_data = end_of_data
        self._block = np.arange(batch) if batch > 1 else None
        self._elements = elements
        self._batch = batch
        self.end = elements.close

    def put(self, first: int) -> None:
        """See `Channel`."""
        if self._block is None:
            self._elements.enqueue(first)
        else:
            self._elements.enqueue_many(first + self._block)

    def get(self) -> int | None:
        """See `Channel`."""
        try:
            if self._block is None:
                return int(self._elements.dequeue())
            return int(np.sum(self._elements.dequeue_many(self._batch)))
        except self._end_of_data:
            return None


def make_channel(kind: str, batch: int) -> Any:
    """Returns the queue to measure."""
    if kind == "headrace":
        from headrace.core import errors
        from headrace.tf1 import queues

        elements = queues.FIFOQueue(CAPACITY, np.int64, shapes=())
        return EagerChannel(elements, batch, errors.OutOfRangeError)
    if kind == "tensorflow":
        import tensorflow as tf

        elements = tf.queue.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
        return EagerChannel(elements, batch, tf.errors.OutOfRangeError)
    makers = {
        "queue": lambda: queue.Queue(CAPACITY),
        "simple": queue.SimpleQueue,
        "multiprocessing": lambda: multiprocessing.Queue(CAPACITY),
    }
    return StandardChannel(makers[kind](), batch)


def measure_batches(kind: str, batch: int, seconds: float) -> None:
    """Measures how fast a queue returns batches without a graph."""
    block = block_of(batch)
    time_batches(*_filled(kind, block, batch), block, batch, seconds)


def _filled(kind: str, block: np.ndarray[Any, Any], batch: int) -> tuple[Any, Any]:
    """Returns two functions: one fills a queue with a block's rows, the other takes a batch."""
    if kind == "copy":
        parts = iter(())

        def fill() -> None:
            nonlocal parts
            parts = iter(block.reshape(-1, batch, EXAMPLE_BYTES))

        return fill, lambda: next(parts).copy()
    if kind == "headrace":
        from headrace.tf1 import queues

        ours = queues.FIFOQueue(-1, np.uint8, shapes=(EXAMPLE_BYTES,))
        return lambda: ours.enqueue_many(block), lambda: ours.dequeue_many(batch)
    elements: queue.Queue[np.ndarray[Any, Any]] = queue.Queue()

    def fill_queue() -> None:
        for row in block:
            elements.put(row)

    return fill_queue, lambda: np.stack([elements.get() for _ in range(batch)])


def main() -> None:
    """Runs the measurement selected by the arguments."""
    parser = argparse.ArgumentParser()
    ways = parser.add_subparsers(dest="ways", required=True)
    graph = ways.add_parser(
        "graph", help="Queues of a graph: the same program, but for its import."
    )
    graph.add_argument("kind", choices=["headrace", "tensorflow"])
    graph.add_argument("way", choices=["run", "callable", "runner", "batches"])
    python = ways.add_parser("python", help="Queues without a graph.")
    kinds = ["headrace", "tensorflow", "queue", "simple", "multiprocessing", "copy"]
    python.add_argument("kind", choices=kinds)
    python.add_argument("way", choices=["flow", "batches"])
    for each in (graph, python):
        each.add_argument("--batch", type=int, default=1)
        each.add_argument("--producers", type=int, default=1)
        each.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    kind, batch, seconds = options.kind, options.batch, options.seconds
    if options.ways == "python":
        if options.way == "batches":
            measure_batches(kind, batch, seconds)
        else:
            measure(make_channel(kind, batch), batch, options.producers, seconds)
        return
    tf = tensorflow1_of(kind)
    if options.way == "runner":
        measure_runner(tf, batch, options.producers, seconds)
    elif options.way == "batches":
        measure_graph_batches(tf, batch, seconds)
    else:
        channel = GraphChannel(tf, batch, options.way == "callable")
        measure(channel, batch, options.producers, seconds)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
