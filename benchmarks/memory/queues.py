"""Measures a process with TensorFlow 1 queues: `python -m benchmarks.memory.queues`.

`fill` fills a queue with records and prints the growth of the process. `last` runs a program for a
long time, and prints its memory soon after the start and at the end.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import headrace.tf1 as tf
from benchmarks import dataset
from benchmarks.memory.watching import anonymous_bytes
from benchmarks.workloads import digits, text_lines

BATCH_SIZE = 500

Components = list[Any]
"""Arrays, each with a first dimension of `BATCH_SIZE`."""

DIGIT_BYTES = 784 + 8


def strings(length: int) -> Components:
    """Distinct strings: bytes, (n,)."""
    return [np.array([b"%0*d" % (length, number) for number in range(BATCH_SIZE)], object)]


def numbers() -> Components:
    """A line of ten numbers and a label: float32, (n, 10); int32, (n,)."""
    rows = np.random.default_rng(0).random((BATCH_SIZE, 10), np.float32)
    return [rows, np.arange(BATCH_SIZE, dtype=np.int32)]


def digit_records() -> Components:
    """W1's records: uint8, (n, 784); int64, (n,)."""
    pixels = np.random.default_rng(0).integers(0, 256, (BATCH_SIZE, 784), np.uint8)
    return [pixels, np.arange(BATCH_SIZE)]


def as_floats(pixels: Any, labels: Any) -> Components:
    """Scales digits, as programs do before they enqueue them."""
    return [tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, labels]


def as_they_are(*components: Any) -> Components:
    return list(components)


KINDS: dict[str, tuple[Callable[[], Components], Callable[..., Components], int]] = {
    "lines of 30 bytes": (lambda: strings(30), as_they_are, 30),
    "strings of 100 bytes": (lambda: strings(100), as_they_are, 100),
    "strings of 3,000 bytes": (lambda: strings(3_000), as_they_are, 3_000),
    "ten floats and a label": (numbers, as_they_are, 44),
    "digits of 784 bytes": (digit_records, as_they_are, DIGIT_BYTES),
    "digits of 784 bytes, scaled to floats": (digit_records, as_floats, DIGIT_BYTES),
}
"""The function that makes records, the conversion before they are enqueued, and the size of a
record in its file. Sizes are counted before the conversion to floats."""

WAYS = ("one", "many")

HELD = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:0"}
"""An environment in which the allocator returns freed memory immediately."""


def fill(kind: str, way: str, num_bytes: int) -> dict[str, Any]:
    """Fills a queue.

    Args:
        kind: A key of `KINDS`.
        way: Whether records are enqueued one or many at a time.
        num_bytes: The approximate total size of the records.

    Returns:
        The number of records, their size in bytes, and the growth of the process.
    """
    make, prepare, record_bytes = KINDS[kind]
    records = make()
    count = max(1, num_bytes // record_bytes // BATCH_SIZE) * BATCH_SIZE
    size = BATCH_SIZE if way == "many" else 1
    batches = _cut(records, size)
    fed = [tf.placeholder(tf.as_dtype(part.dtype), [size, *part.shape[1:]]) for part in records]
    components = prepare(*fed)
    shapes = [part.shape[1:] for part in components]
    queue = tf.FIFOQueue(count, [part.dtype for part in components], shapes)
    # If batches are dequeued, floats are computed only then.
    batch = queue.dequeue_many(BATCH_SIZE)
    enqueue = (
        queue.enqueue_many(components)
        if way == "many"
        else queue.enqueue([part[0] for part in components])
    )
    with tf.Session() as session:
        run = session.make_callable(enqueue, fed)
        take = session.make_callable(batch)
        for values in itertools.islice(batches, BATCH_SIZE // size):
            run(*values)
        take()
        before = anonymous_bytes()
        for values in itertools.islice(batches, count // size):
            run(*values)
        grown = anonymous_bytes() - before
    return {"count": count, "record_bytes": record_bytes, "grown_bytes": grown}


def _cut(records: Components, size: int) -> Iterator[Components]:
    """Yields the records repeatedly, `size` at a time."""
    starts = range(0, BATCH_SIZE, size)
    return itertools.cycle([[part[at : at + size] for part in records] for at in starts])


PROGRAMS = {
    "lines": (text_lines.W5, text_lines.many_at_a_time),
    "digits": (digits.W1, digits.many_at_a_time),
}
"""The programs for long runs: the best programs of W5 and W1."""


def last(name: str, count: int, soon: int, files: list[str]) -> dict[str, int]:
    """Takes examples.

    Args:
        name: A key of `PROGRAMS`.
        count: The number of examples to take.
        soon: The number of examples before the first measurement.
        files: The files to read repeatedly. All data if empty.

    Returns:
        The number of examples, and the memory in bytes: soon after the start, at the end, and at
        most.
    """
    workload, program = PROGRAMS[name]
    batch = program(tf, files or dataset.files_of(workload), None)
    seen = 0
    at_soon = most = now = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        while seen < count:
            taken, *_ = workload.sums_of(session.run(batch))
            seen += taken
            if seen % (16 * taken) == 0 or seen >= count:
                now = anonymous_bytes()
                most = max(most, now)
            if seen >= soon and not at_soon:
                at_soon = anonymous_bytes()
        coord.request_stop()
        coord.join(threads)
    return {"count": seen, "soon_bytes": at_soon, "end_bytes": now, "most_bytes": most}


def main() -> None:
    """Runs the measurement selected by the arguments."""
    parser = argparse.ArgumentParser()
    programs = parser.add_subparsers(required=True)
    program = programs.add_parser("fill")
    program.set_defaults(run=lambda options: fill(options.kind, options.way, options.mib * 2**20))
    program.add_argument("kind", choices=KINDS)
    program.add_argument("way", choices=WAYS)
    program.add_argument("--mib", type=int, default=32, help="How many records.")
    program = programs.add_parser("last")
    program.set_defaults(
        run=lambda options: last(options.name, options.count, options.soon, options.files)
    )
    program.add_argument("name", choices=PROGRAMS)
    program.add_argument("files", nargs="*")
    program.add_argument("--count", type=int, default=10_000_000)
    program.add_argument("--soon", type=int, default=100_000)
    options = parser.parse_args()
    print(json.dumps(options.run(options)))


if __name__ == "__main__":
    main()
