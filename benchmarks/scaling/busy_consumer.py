"""Counts the lines that are read while the consumer is busy for nine tenths of its time.

Every ten milliseconds it takes what a reader's thread has put into a queue, and for nine of them it
is busy in a way that the first argument names.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable

import headrace.tf1 as tf
from benchmarks.pipelines import dataset

CYCLE_SECONDS = 0.01
BUSY_SECONDS = 0.009
CAPACITY = 100_000
LONG = bytes(1 << 18)
"""So much that to hash it takes the GIL away for a fraction of a millisecond."""


def hold_the_gil(end: float) -> None:
    """Computes in Python."""
    while time.perf_counter() < end:
        sum(range(1_000))


def compute_without_the_gil(end: float) -> None:
    """Computes in C, which needs no GIL."""
    while time.perf_counter() < end:
        hashlib.sha256(LONG)


def sleep(end: float) -> None:
    """Does nothing."""
    time.sleep(max(0.0, end - time.perf_counter()))


WAYS: dict[str, Callable[[float], None]] = {
    "sleeps": sleep,
    "computes": compute_without_the_gil,
    "holds-the-gil": hold_the_gil,
}


def main() -> None:
    """Prints the number of lines read, and the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    # Whoever wants the GIL gets it only when the main thread gives it away.
    sys.setswitchinterval(60.0)
    keep_busy = WAYS[options.way]
    parts = dataset.parts_of("lines")
    files = dataset.select("lines", parts, len(parts)).files
    _, line = tf.TextLineReader().read(tf.train.string_input_producer(files))
    queue = tf.FIFOQueue(CAPACITY, [tf.string], shapes=[()])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(line)]))
    taken = tf.size(queue.dequeue_up_to(queue.size()))
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        take = session.make_callable(taken)
        take()
        count = 0
        cpu, begin = time.process_time(), time.perf_counter()
        while (now := time.perf_counter()) < begin + options.seconds:
            keep_busy(now + BUSY_SECONDS)
            count += int(take())
            time.sleep(max(0.0, now + CYCLE_SECONDS - time.perf_counter()))
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
        coord.request_stop()
        coord.join(threads)
    print(json.dumps({"count": count, "seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main()
