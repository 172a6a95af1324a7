"""The queues of a graph, of headrace or of TensorFlow: the same program, but for its import."""

import argparse
import sys
import time
from typing import Any

import numpy as np
from flow import drain, measure, report

CAPACITY = 4_096
EXAMPLE_BYTES = 3_072


class GraphChannel:
    """A FIFO queue that is fed and fetched with `Session.run`, or with callables made before."""

    def __init__(self, tf: Any, batch: int, has_callables: bool) -> None:
        queue = tf.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
        fed = tf.placeholder(tf.int64, [] if batch == 1 else [batch])
        enqueue = queue.enqueue(fed) if batch == 1 else queue.enqueue_many(fed)
        dequeue = queue.dequeue() if batch == 1 else queue.dequeue_many(batch)
        close = queue.close()
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
    """Measures the queue of a queue runner, whose elements are counted in the graph."""
    queue = tf.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
    ops = []
    for _ in range(num_producers):
        counter = tf.Variable(-batch, dtype=tf.int64, use_resource=True)
        first = counter.assign_add(batch)
        numbers = first + tf.range(batch, dtype=tf.int64)
        ops.append(queue.enqueue(first) if batch == 1 else queue.enqueue_many(numbers))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, ops))
    dequeue = queue.dequeue() if batch == 1 else queue.dequeue_many(batch)
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


def measure_batches(tf: Any, batch: int, seconds: float) -> None:
    """Measures how fast batches of `EXAMPLE_BYTES` are put together, all elements being there."""
    queue = tf.FIFOQueue(-1, [tf.uint8], shapes=[(EXAMPLE_BYTES,)])
    block = np.arange(32 * batch * EXAMPLE_BYTES, dtype=np.uint8).reshape(-1, EXAMPLE_BYTES)
    fed = tf.placeholder(tf.uint8, block.shape)
    enqueue, dequeue = queue.enqueue_many(fed), queue.dequeue_many(batch)
    with tf.Session() as session:
        calls, spent, cpu = 0, 0.0, 0.0
        while spent < seconds:
            session.run(enqueue, {fed: block})
            cpu_begin, begin = time.process_time(), time.perf_counter()
            for _ in range(32):
                taken = session.run(dequeue)
            spent += time.perf_counter() - begin
            cpu += time.process_time() - cpu_begin
            calls += 32
            assert np.array_equal(taken, block[-batch:]), "wrong elements"
        report(calls * batch, spent, cpu)


def main() -> None:
    """Runs the measurement that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module", choices=["headrace", "tensorflow"])
    parser.add_argument("way", choices=["run", "callable", "runner", "batches"])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--producers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()
    if arguments.module == "headrace":
        import headrace.tf1 as tf  # noqa: PLC0415
    else:
        import tensorflow.compat.v1 as tf  # noqa: PLC0415

        tf.disable_eager_execution()
    if arguments.way == "runner":
        measure_runner(tf, arguments.batch, arguments.producers, arguments.seconds)
    elif arguments.way == "batches":
        measure_batches(tf, arguments.batch, arguments.seconds)
    else:
        channel = GraphChannel(tf, arguments.batch, arguments.way == "callable")
        measure(channel, arguments.batch, arguments.producers, arguments.seconds)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
