"""Queues without a graph: headrace's, those of the standard library, and TensorFlow's eager one."""

import argparse
import multiprocessing
import queue
import time
from typing import Any

import numpy as np
from flow import measure, report

CAPACITY = 4_096
EXAMPLE_BYTES = 3_072


class StandardChannel:
    """A queue with `put` and `get`; several numbers travel as one array."""

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
    """A queue with `enqueue` and `dequeue`, of headrace or TensorFlow."""

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
        from headrace.core import errors  # noqa: PLC0415
        from headrace.tf1 import queues  # noqa: PLC0415

        elements = queues.FIFOQueue(CAPACITY, np.int64, shapes=())
        return EagerChannel(elements, batch, errors.OutOfRangeError)
    if kind == "tensorflow":
        import tensorflow as tf  # noqa: PLC0415

        elements = tf.queue.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
        return EagerChannel(elements, batch, tf.errors.OutOfRangeError)
    makers = {
        "queue": lambda: queue.Queue(CAPACITY),
        "simple": queue.SimpleQueue,
        "multiprocessing": lambda: multiprocessing.Queue(CAPACITY),
    }
    return StandardChannel(makers[kind](), batch)


def measure_batches(kind: str, batch: int, seconds: float) -> None:
    """Measures how fast batches of `EXAMPLE_BYTES` are put together, all elements being there."""
    block = np.arange(32 * batch * EXAMPLE_BYTES, dtype=np.uint8).reshape(-1, EXAMPLE_BYTES)
    fill, take = _filled(kind, block, batch)
    calls, spent, cpu = 0, 0.0, 0.0
    while spent < seconds:
        fill()
        cpu_begin, begin = time.process_time(), time.perf_counter()
        for _ in range(32):
            taken = take()
        spent += time.perf_counter() - begin
        cpu += time.process_time() - cpu_begin
        calls += 32
        assert np.array_equal(taken, block[-batch:]), "wrong elements"
    report(calls * batch, spent, cpu)


def _filled(kind: str, block: np.ndarray[Any, Any], batch: int) -> tuple[Any, Any]:
    """Returns two functions: one fills a queue with the rows of a block, one takes a batch out."""
    if kind == "copy":
        parts = iter(())

        def fill() -> None:
            nonlocal parts
            parts = iter(block.reshape(-1, batch, EXAMPLE_BYTES))

        return fill, lambda: next(parts).copy()
    if kind == "headrace":
        from headrace.tf1 import queues  # noqa: PLC0415

        ours = queues.FIFOQueue(-1, np.uint8, shapes=(EXAMPLE_BYTES,))
        return lambda: ours.enqueue_many(block), lambda: ours.dequeue_many(batch)
    elements: queue.Queue[np.ndarray[Any, Any]] = queue.Queue()

    def fill_queue() -> None:
        for row in block:
            elements.put(row)

    return fill_queue, lambda: np.stack([elements.get() for _ in range(batch)])


def main() -> None:
    """Runs the measurement that the arguments name."""
    parser = argparse.ArgumentParser()
    kinds = ["headrace", "tensorflow", "queue", "simple", "multiprocessing", "copy"]
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--producers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--batches", action="store_true")
    arguments = parser.parse_args()
    if arguments.batches:
        measure_batches(arguments.kind, arguments.batch, arguments.seconds)
    else:
        channel = make_channel(arguments.kind, arguments.batch)
        measure(channel, arguments.batch, arguments.producers, arguments.seconds)


if __name__ == "__main__":
    main()
