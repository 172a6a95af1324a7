"""Counts the engine's instructions for small programs: `python -m benchmarks.instructions`.

This reveals regressions without timing anything. Each program sends a number of examples through an
input pipeline, in one thread. In TensorFlow 1 programs, a queue runner's thread fills the queue
before it is drained, so every run executes the same instructions. Pipelines have one worker. Only
the native engine's instructions are counted.

Source: callgrind of valgrind (valgrind.org), which counts what it simulates, on any machine alike.
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import headrace.tf1 as tf
from benchmarks.workloads import cifar, csv_lines, digits

RECORD = Path(__file__).with_suffix(".json")
TOLERANCE = 0.03
"""The fraction by which a count may grow."""
NUM_BATCHES = 8
QUEUES = ["headrace_engine::program::Program::run*"]
PIPELINES = [
    "headrace_pipeline::execution::executor::Executor::work*",
    "headrace_pipeline::execution::executor::Executor::next*",
]
"""Instructions are counted while one of these functions runs."""


def write_examples(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes `Example`s as large as MNIST digits."""
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for label in range(count):
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.bytes(784)]))
            number = tf.train.Feature(int64_list=tf.train.Int64List(value=[label % 10]))
            features = tf.train.Features(feature={"image": image, "label": number})
            example = tf.train.Example(features=features)
            writer.write(example.SerializeToString(deterministic=True))


def write_images(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes records in CIFAR-10's format."""
    path.write_bytes(rng.bytes(count * 3_073))


def write_numbers(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes lines of ten floats and a label."""
    lines = [
        ",".join(["%.6f"] * 10 + ["%d"]) % (*row, row[0] * 10) for row in rng.random((count, 10))
    ]
    path.write_text("\n".join(lines) + "\n")


class Program(NamedTuple):
    """A program whose instructions are counted.

    Attributes:
        batch: Returns the tensors of a batch, or the pipeline, given files and a number of epochs.
        batch_size: The number of examples in a batch.
        write: Writes a number of examples to a file.
        is_pipeline: Whether it is a pipeline rather than a TensorFlow 1 program.
    """

    batch: Callable[[list[str], int], Any]
    batch_size: int
    write: Callable[[Path, np.random.Generator, int], None]
    is_pipeline: bool

    @property
    def num_examples(self) -> int:
        """The number of examples that it processes."""
        return NUM_BATCHES * self.batch_size


KINDS = {
    "examples": (
        partial(digits.one_by_one, tf),
        digits.pipeline,
        digits.BATCH_SIZE,
        write_examples,
    ),
    "augmented images": (
        partial(cifar.one_by_one, tf, is_augmented=True),
        partial(cifar.pipeline, is_augmented=True),
        cifar.BATCH_SIZE,
        write_images,
    ),
    "numbers": (
        partial(csv_lines.one_by_one, tf),
        csv_lines.pipeline,
        csv_lines.BATCH_SIZE,
        write_numbers,
    ),
}
PROGRAMS = {
    **{name: Program(queue, size, write, False) for name, (queue, _, size, write) in KINDS.items()},
    **{
        f"pipeline, {name}": Program(pipeline, size, write, True)
        for name, (_, pipeline, size, write) in KINDS.items()
    },
}


def count(name: str) -> int:
    """Returns the number of engine instructions per example of a program."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "data"
        program.write(path, np.random.default_rng(1), program.num_examples)
        command = [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *(
                f"--toggle-collect={each}"
                for each in (PIPELINES if program.is_pipeline else QUEUES)
            ),
            *(sys.executable, "-m", "benchmarks.instructions", "--run", name, str(path)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or collected is None or int(collected[1]) == 0:
        raise click.ClickException(f"{name}: no instructions were counted\n{done.stderr[-2000:]}")
    return round(int(collected[1]) / program.num_examples)


def run(name: str, path: str) -> None:
    """Runs a program."""
    program = PROGRAMS[name]
    num_examples = (
        _run_pipeline(program, path) if program.is_pipeline else _run_queues(program, path)
    )
    assert num_examples == program.num_examples, num_examples


def _run_pipeline(program: Program, path: str) -> int:
    pipeline = program.batch([path], 1).options(num_threads=1)
    return sum(len(batch["label"]) for batch in pipeline)


def _run_queues(program: Program, path: str) -> int:
    tf.set_random_seed(1)
    batch = program.batch([path], 1)
    names, batcher = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(names.enqueue_ops[0])
        session.run(names.queue.close())
        # Dequeue once before the queue has elements, like a consumer that is already waiting.
        dequeue = session.make_callable(batch)
        with contextlib.suppress(tf.errors.DeadlineExceededError):
            session.run(batch, options=tf.RunOptions(timeout_in_ms=1))
        # All elements fit into the queue, so the thread fills it without waiting, and closes it.
        runner = tf.train.QueueRunner(batcher.queue, batcher.enqueue_ops[:1])
        for thread in runner.create_threads(session, start=True):
            thread.join()
        return sum(len(dequeue()[1]) for _ in range(NUM_BATCHES))


@click.command()
@click.option("--run", "program", type=(str, str), default=None, hidden=True)
@click.option("--record", is_flag=True, help="Keep the counts as those to compare with.")
def main(record: bool, program: tuple[str, str] | None) -> None:
    """Counts each program's instructions per example, and compares them with the recorded counts.

    Fails if a count has grown by more than 3 %. If the growth is intended, or if counts have
    shrunk, record the new counts.
    """
    if program is not None:
        run(*program)
        return
    if shutil.which("valgrind") is None:
        raise click.ClickException(
            "no valgrind found. Install it: sudo apt-get install -y valgrind"
        )
    counts = {name: count(name) for name in PROGRAMS}
    if record:
        RECORD.write_text(json.dumps(counts, indent=4) + "\n")
        return
    recorded = json.loads(RECORD.read_text())
    grown = []
    for name, now in counts.items():
        before = recorded[name]
        print(f"{name}: {now:,} instructions an example, {now / before - 1:+.1%}")
        grown += [name] if now > before * (1 + TOLERANCE) else []
    if grown:
        raise click.ClickException(f"more instructions than recorded: {', '.join(grown)}")


if __name__ == "__main__":
    main()
