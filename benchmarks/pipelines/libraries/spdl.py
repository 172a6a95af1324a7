"""SPDL: stages in threads. What is read and parsed, and how, is the user's."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from spdl.pipeline import PipelineBuilder

from benchmarks.pipelines import consume
from benchmarks.pipelines.libraries import cifar, digits, folder, text
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled, shuffled_rows

NUM_THREADS = 2
NUM_BATCHES = 8


def described(task: str, files: list[str], num_epochs: int) -> PipelineBuilder:
    """Returns the stages of a task."""
    names = epochs_of(files, num_epochs)
    builder = PipelineBuilder()

    def stage(source: Iterable[Any], work: Any) -> PipelineBuilder:
        return builder.add_source(source).pipe(work, concurrency=NUM_THREADS)

    if task == "photos":
        return stage(names, folder.load).aggregate(64).pipe(folder.stack)
    if task == "examples":
        return stage(shuffled(digits.records_of(names), 128), digits.parse_digits)
    if task == "lines":
        return builder.add_source(shuffled(text.lines_of(names), 1_024))
    records = shuffled_rows(cifar.records_of(names), 128)
    if task == "images":
        return stage(records, lambda rows: cifar.decode(rows[0]))
    return stage(records, lambda rows: cifar.augment(rows[0], np.random.default_rng()))


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    builder = described(task, files, num_epochs).add_sink(NUM_BATCHES)
    pipeline = builder.build(num_threads=NUM_THREADS + 1)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


if __name__ == "__main__":
    consume.run(batches_of)
