"""The programs of `benchmarks.scaling`, each a process: `python -m benchmarks.scaling_programs`.

`queues` runs the TensorFlow 1 program of W1, W4 or W5 with a number of threads and a capacity.

`disk` reads text lines from a simulated slow disk. The files are named pipes. A thread for each
pipe sleeps before it writes each block, and a pipe holds only one block. A reader therefore waits
this long for each block, regardless of other readers.

`consumer` counts the lines that are read while the consumer is busy for nine tenths of the time.
Every ten milliseconds, it takes the lines that a reader thread has enqueued, and is then busy for
nine milliseconds, in one of three ways.
"""

import argparse
import fcntl
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import headrace.tf1 as tf
from benchmarks import dataset
from benchmarks.measure import measure
from benchmarks.workload import batches_of
from benchmarks.workloads import csv_lines, digits, text_lines

WORKLOADS = {"digits": digits.W1, "csv_lines": csv_lines.W4, "text_lines": text_lines.W5}


def queues(options: argparse.Namespace) -> None:
    """Runs a workload's program with the requested threads and capacity."""
    module = sys.modules[WORKLOADS[options.workload].module]
    batch_size = options.batch or module.BATCH_SIZE
    # Three quarters of the capacity are for shuffling, if a batch fits into the rest.
    min_after_dequeue = min(options.capacity * 3 // 4, options.capacity - batch_size)
    sizes = (batch_size, options.capacity, min_after_dequeue)
    names = tf.train.string_input_producer(options.files, num_epochs=options.epochs)
    if options.readers:
        readers = [list(module.read(tf, names)) for _ in range(options.readers)]
        batch = tf.train.shuffle_batch_join(readers, *sizes, allow_smaller_final_batch=True)
    else:
        batch = tf.train.shuffle_batch(
            list(module.read(tf, names)),
            *sizes,
            num_threads=options.threads,
            allow_smaller_final_batch=True,
        )
    measure(WORKLOADS[options.workload], batches_of(tf, batch))


BLOCK_BYTES = 4_096
"""The minimum capacity of a pipe."""

LINE = b"%015d"
LINES_PER_BLOCK = BLOCK_BYTES // 16


def serve(path: Path, num_blocks: int, seconds: float) -> None:
    """Writes the lines of one file, a block at a time."""
    block = b"".join(LINE % number + b"\n" for number in range(LINES_PER_BLOCK))
    with path.open("wb", buffering=0) as pipe:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, BLOCK_BYTES)
        for _ in range(num_blocks):
            time.sleep(seconds)
            pipe.write(block)


def disk(options: argparse.Namespace) -> None:
    """Takes all lines of slow files. Several files are read concurrently."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"{number}.txt" for number in range(options.files)]
        for path in paths:
            os.mkfifo(path)
        arguments = (options.blocks, options.milliseconds / 1e3)
        servers = [threading.Thread(target=serve, args=(path, *arguments)) for path in paths]
        for server in servers:
            server.start()
        names = tf.train.string_input_producer([str(path) for path in paths], num_epochs=1)
        readers = [[tf.TextLineReader().read(names)[1]] for _ in range(options.readers)]
        batch = tf.train.batch_join(readers, LINES_PER_BLOCK, allow_smaller_final_batch=True)
        measure(text_lines.W5, batches_of(tf, batch))
        for server in servers:
            server.join()


CYCLE_SECONDS = 0.01
BUSY_SECONDS = 0.009
CAPACITY = 100_000
LONG = bytes(1 << 18)
"""Large enough that hashing it releases the GIL for a fraction of a millisecond."""


def hold_the_gil(end: float) -> None:
    """Computes in Python."""
    while time.perf_counter() < end:
        sum(range(1_000))


def compute_without_the_gil(end: float) -> None:
    """Computes in C without holding the GIL."""
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


def consumer(options: argparse.Namespace) -> None:
    """Prints the number of lines read, and the time."""
    # Other threads get the GIL only when the main thread releases it.
    sys.setswitchinterval(60.0)
    keep_busy = WAYS[options.way]
    files = options.files or dataset.files_of(text_lines.W5)
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


def main() -> None:
    """Runs the program selected by the arguments."""
    parser = argparse.ArgumentParser()
    programs = parser.add_subparsers(required=True)
    program = programs.add_parser("queues")
    program.set_defaults(run=queues)
    program.add_argument("workload", choices=WORKLOADS)
    program.add_argument("--threads", type=int, default=1, help="How many share one reader.")
    program.add_argument("--readers", type=int, default=0, help="With a thread each, instead.")
    program.add_argument("--capacity", type=int, required=True)
    program.add_argument("--batch", type=int, default=0, help="Examples; 0 for what is usual.")
    program.add_argument("epochs", type=int)
    program.add_argument("files", nargs="+")
    program = programs.add_parser("disk")
    program.set_defaults(run=disk)
    program.add_argument("--readers", type=int, default=1)
    program.add_argument("--files", type=int, default=16)
    program.add_argument("--blocks", type=int, default=20, help="How long each file is.")
    program.add_argument("--milliseconds", type=float, default=10.0, help="What a block takes.")
    program = programs.add_parser("consumer")
    program.set_defaults(run=consumer)
    program.add_argument("way", choices=WAYS)
    program.add_argument("files", nargs="*")
    program.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
