"""The TensorFlow 1 programs of three workloads, with threads and room as asked for."""

import argparse
from collections.abc import Callable
from typing import Any

import headrace.tf1 as tf
from benchmarks.pipelines import loop
from benchmarks.pipelines.tf1 import examples, lines, numbers

READS: dict[str, Callable[[Any], list[Any]]] = {
    "examples": lambda names: list(examples.read_and_decode(names)),
    "numbers": lambda names: list(numbers.read_and_decode(names)),
    "lines": lambda names: [lines.read_line(names)],
}
BATCH_SIZES = {"examples": 128, "numbers": 256, "lines": 1_024}


def program(
    read: Callable[[Any], list[Any]], options: argparse.Namespace, batch_size: int
) -> Callable[[list[str], int], Any]:
    """Returns the function that makes the tensors of a batch."""
    # Three quarters of the room are for shuffling, if a batch fits into the rest.
    min_after_dequeue = min(options.capacity * 3 // 4, options.capacity - batch_size)
    sizes = (batch_size, options.capacity, min_after_dequeue)

    def make(files: list[str], num_epochs: int) -> Any:
        names = tf.train.string_input_producer(files, num_epochs=num_epochs)
        if options.readers:
            readers = [read(names) for _ in range(options.readers)]
            return tf.train.shuffle_batch_join(readers, *sizes, allow_smaller_final_batch=True)
        return tf.train.shuffle_batch(
            read(names), *sizes, num_threads=options.threads, allow_smaller_final_batch=True
        )

    return make


def main() -> None:
    """Runs the task that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1, help="How many share one reader.")
    parser.add_argument("--readers", type=int, default=0, help="With a thread each, instead.")
    parser.add_argument("--capacity", type=int, required=True)
    parser.add_argument("--batch", type=int, default=0, help="Examples; 0 for what is usual.")
    options, _ = parser.parse_known_args()
    programs = {
        task: program(read, options, options.batch or BATCH_SIZES[task])
        for task, read in READS.items()
    }
    loop.run(tf, programs)


if __name__ == "__main__":
    main()
