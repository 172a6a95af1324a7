"""A training program for soak tests.

Run as `python -m stress.programs.training NAME DIRECTORY SEED COUNT`.

It prints the number of earlier batches, and then a line of JSON for each batch. The first line of
its input contains the position to continue from, and its resource limits.
"""

import json
import signal
import sys
import threading
import time
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import headrace.tf1 as tf
from headrace.pipeline import Batches
from headrace.testing import dump_waits_on_signal
from headrace.tf1 import checkpoint
from stress.files.soak_jobs import JOBS, Job

_SAVED_EVERY = 25
_PATIENCE_S = 60.0


class BatchFacts(NamedTuple):
    """The information about a batch that the ledger needs.

    Attributes:
        numbers: The numbers of its examples, in order.
        sums: The CRC-32 of each.
        state: The state after the batch; None if the program saves it itself.
    """

    numbers: list[int]
    sums: list[int]
    state: dict[str, Any] | None


class Interrupts:
    """Handles Ctrl-C as in Python, but completes the current output line first."""

    def __init__(self) -> None:
        self._is_writing = False
        self._has_come = False
        signal.signal(signal.SIGINT, self._come)

    def say(self, what: dict[str, Any]) -> None:
        """Writes a line."""
        self._is_writing = True
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
        self._is_writing = False
        if self._has_come:
            self._has_come = False
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Ignores Ctrl-C from now on."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _come(self, *_: object) -> None:
        if not self._is_writing:
            raise KeyboardInterrupt
        self._has_come = True


Steps = Generator[tuple[int, BatchFacts | None], None, None]


def queues(job: Job, directory: Path, seed: int) -> Steps:
    """Runs a TensorFlow 1 program that saves its own checkpoints and resumes from the last one.

    Yields:
        The number of batches so far, and the last batch, which is None at the beginning.
    """
    path, shards = directory / "session", sorted(map(str, directory.glob("digits-*")))
    names = tf.train.string_input_producer(shards, num_epochs=job.num_epochs, seed=seed)
    _, record = tf.TFRecordReader().read(names)
    kinds = {"image": tf.FixedLenFeature([], tf.string), "number": tf.FixedLenFeature([], tf.int64)}
    features = tf.parse_single_example(record, kinds)
    batch = tf.train.shuffle_batch(
        [features["number"], features["image"]],
        64,
        2_000,
        500,
        num_threads=2,
        seed=seed,
        allow_smaller_final_batch=True,
    )
    step = tf.Variable(0, trainable=False, dtype=tf.int64, name="step")
    count = tf.assign_add(step, 1)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        if path.exists():
            checkpoint.restore(session, path)
        yield int(session.run(step)), None
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while True:
                numbers, images = session.run(batch)
                number = int(session.run(count))
                yield (
                    number,
                    BatchFacts(numbers.tolist(), [zlib.crc32(one) for one in images], None),
                )
                if number % _SAVED_EVERY == 0:
                    checkpoint.save(session, path)
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)


def pipeline(job: Job, directory: Path, seed: int, begin: str) -> Steps:
    """A loop over a pipeline, which continues from a state.

    Args:
        job: The data set.
        directory: The directory of its files.
        seed: The seed of shuffles.
        begin: JSON with the number of earlier batches, the state, the number of threads, and the
            memory limit.

    Yields:
        The same as `queues`.
    """
    assert job.make is not None
    number, state, num_threads, memory_bytes = json.loads(begin)
    yield number, None
    pipe = job.make(directory, seed).options(num_threads=num_threads, memory_bytes=memory_bytes)
    with pipe.resume(state) as batches:
        for batch in batches:
            number += 1
            numbers, sums = job.given(batch)
            yield number, BatchFacts([int(one) for one in numbers], list(sums), batches.state())
        check_skipped(job, batches)


def check_skipped(job: Job, batches: Batches) -> None:
    """Raises an error unless exactly the damaged examples were skipped."""
    expected = job.num_skipped * job.num_epochs
    if len(batches.skipped) != expected:
        raise AssertionError(f"{len(batches.skipped)} examples were skipped, expected {expected}")


def main(name: str, directory: str, seed: str, count: str) -> None:
    """Trains until the data end, or for `count` batches if that is not 0."""
    dump_waits_on_signal()
    interrupts = Interrupts()
    job, begin = JOBS[name], sys.stdin.readline()
    if job.make is None:
        steps = queues(job, Path(directory), int(seed))
    else:
        steps = pipeline(job, Path(directory), int(seed), begin)
    how, num_given = "end", 0
    try:
        for number, value in steps:
            interrupts.say({"number": number, **(value._asdict() if value else {})})
            num_given += value is not None
            if num_given == int(count) > 0:
                how = "break"
                break
        steps.close()
        interrupts.stop()  # An interrupt that arrives now has nothing to end.
    except KeyboardInterrupt:
        how = "Ctrl-C"
        steps.close()
    interrupts.say({"how": how, "threads": left_threads()})


def left_threads() -> list[str]:
    """Returns the names of threads that do not end, even after a running function could finish."""
    until = time.monotonic() + _PATIENCE_S
    # A thread interrupted at its start cannot be joined yet.
    while len(threads := threading.enumerate()) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    return [thread.name for thread in threads if thread is not threading.current_thread()]


if __name__ == "__main__":
    main(*sys.argv[1:])
