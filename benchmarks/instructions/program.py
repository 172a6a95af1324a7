"""One of the measured programs: so many examples through an input pipeline, in one thread.

Of TensorFlow 1's programs, a queue runner's thread fills the queue and only then is it emptied, so
that the same instructions are executed each time. Of pipelines there is one worker. Nothing is
counted but what the native engine does.
"""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headrace.tf1 as tf
from benchmarks.pipelines.pipeline import examples as pipeline_examples
from benchmarks.pipelines.pipeline import images as pipeline_images
from benchmarks.pipelines.pipeline import numbers as pipeline_numbers
from benchmarks.pipelines.tf1 import examples, images, numbers

NUM_BATCHES = 8

Write = Callable[[Path, np.random.Generator, int], None]


def write_examples(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes `Example`s of the size of MNIST's digits."""
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for label in range(count):
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.bytes(784)]))
            number = tf.train.Feature(int64_list=tf.train.Int64List(value=[label % 10]))
            features = tf.train.Features(feature={"image": image, "label": number})
            example = tf.train.Example(features=features)
            writer.write(example.SerializeToString(deterministic=True))


def write_images(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes records of CIFAR-10's format."""
    path.write_bytes(rng.bytes(count * 3_073))


def write_numbers(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes lines of ten floats and a label."""
    lines = [
        ",".join(["%.6f"] * 10 + ["%d"]) % (*row, row[0] * 10) for row in rng.random((count, 10))
    ]
    path.write_text("\n".join(lines) + "\n")


PROGRAMS: dict[str, tuple[Any, Callable[..., Any], Write]] = {
    "examples": (examples, examples.examples, write_examples),
    "augmented images": (images, images.augmented_images, write_images),
    "numbers": (numbers, numbers.numbers, write_numbers),
    "pipeline, examples": (pipeline_examples, pipeline_examples.examples, write_examples),
    "pipeline, augmented images": (
        pipeline_images,
        pipeline_images.augmented_images,
        write_images,
    ),
    "pipeline, numbers": (pipeline_numbers, pipeline_numbers.numbers, write_numbers),
}


def is_pipeline(name: str) -> bool:
    """Returns whether a program is a pipeline, and none of TensorFlow 1's."""
    return name.startswith("pipeline")


def num_examples(name: str) -> int:
    """Returns how many examples a program handles."""
    return int(NUM_BATCHES * PROGRAMS[name][0].BATCH_SIZE)


def write(name: str, path: Path) -> None:
    """Writes the file that a program reads."""
    PROGRAMS[name][2](path, np.random.default_rng(1), num_examples(name))


def main(name: str, path: str) -> None:
    """Runs a program."""
    count = _run_pipeline(name, path) if is_pipeline(name) else _run_queues(name, path)
    assert count == num_examples(name), count


def _run_pipeline(name: str, path: str) -> int:
    pipeline = PROGRAMS[name][1]([path], 1).options(num_threads=1)
    return sum(len(batch["label"]) for batch in pipeline)


def _run_queues(name: str, path: str) -> int:
    tf.set_random_seed(1)
    batch = PROGRAMS[name][1]([path], 1)
    names, batcher = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(names.enqueue_ops[0])
        session.run(names.queue.close())
        # Tried before anything is put in, as by a consumer that waits already.
        dequeue = session.make_callable(batch)
        with contextlib.suppress(tf.errors.DeadlineExceededError):
            session.run(batch, options=tf.RunOptions(timeout_in_ms=1))
        # The queue holds all: the thread fills it without waiting, and closes it.
        runner = tf.train.QueueRunner(batcher.queue, batcher.enqueue_ops[:1])
        for thread in runner.create_threads(session, start=True):
            thread.join()
        return sum(len(dequeue()[1]) for _ in range(NUM_BATCHES))


if __name__ == "__main__":
    main(*sys.argv[1:])
