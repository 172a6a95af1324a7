"""Elements per second through one queue, from a thread that fills it to the main thread.

Runs headrace beside the queues of the standard library, each in turn, several times over, and
prints medians and ratios to `queue.Queue`. Only ratios inside one run mean anything.
"""

import queue
import statistics
import threading
import time
from collections.abc import Callable

import headrace.tf1 as tf

CAPACITY = 1_024
BATCH_SIZE = 128
NUM_ROUNDS = 5
SECONDS = 0.4
"""How long each round measures, after a start that does not count."""


def rate(take: Callable[[], object], num_elements: int) -> float:
    """Returns elements per second, where each call of `take` takes `num_elements` of them."""
    for _ in range(20):
        take()
    start = now = time.perf_counter()
    calls = 0
    while now < start + SECONDS:
        for _ in range(20):
            take()
        calls += 20
        now = time.perf_counter()
    return calls * num_elements / (now - start)


def from_standard_library(make: Callable[[], queue.Queue[int] | queue.SimpleQueue[int]]) -> float:
    """Measures a queue of Python, filled by a thread."""
    elements = make()
    is_over = threading.Event()

    def fill() -> None:
        while not is_over.is_set():
            elements.put(1)

    filler = threading.Thread(target=fill)
    filler.start()
    result = rate(elements.get, 1)
    is_over.set()
    while filler.is_alive():  # It may be blocked on a full queue.
        try:
            elements.get(timeout=0.01)
        except queue.Empty:
            pass
    filler.join()
    return result


def from_headrace(num_elements: int) -> float:
    """Measures a queue filled by a queue runner, `num_elements` of them in a `Session.run`."""
    with tf.Graph().as_default():
        elements = tf.FIFOQueue(CAPACITY, [tf.int64], shapes=[()])
        block = tf.constant([1] * BATCH_SIZE, tf.int64)
        tf.train.add_queue_runner(tf.train.QueueRunner(elements, [elements.enqueue_many([block])]))
        take = elements.dequeue() if num_elements == 1 else elements.dequeue_many(num_elements)
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            result = rate(lambda: session.run(take), num_elements)
            coord.request_stop()
            coord.join(threads)
    return result


CASES: dict[str, Callable[[], float]] = {
    "queue.Queue": lambda: from_standard_library(lambda: queue.Queue(CAPACITY)),
    "queue.SimpleQueue (unbounded)": lambda: from_standard_library(queue.SimpleQueue),
    "headrace, 1 a call": lambda: from_headrace(1),
    f"headrace, {BATCH_SIZE} a call": lambda: from_headrace(BATCH_SIZE),
}


def main() -> None:
    """Measures every case in turn, `NUM_ROUNDS` times."""
    results: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(NUM_ROUNDS):
        for name, measure in CASES.items():
            results[name].append(measure())
    base = statistics.median(results["queue.Queue"])
    print(f"{'':32}{'elements/s':>14}{'ratio':>8}")
    for name, rates in results.items():
        median = statistics.median(rates)
        print(f"{name:32}{median:14,.0f}{median / base:8.2f}")


if __name__ == "__main__":
    main()
