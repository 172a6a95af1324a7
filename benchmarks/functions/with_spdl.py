"""SPDL with two threads."""

from collections.abc import Callable, Iterator

import numpy as np
from spdl.pipeline import PipelineBuilder

from benchmarks.functions import work

NUM_THREADS = 2
NUM_BATCHES = 8


def batches(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    """Yields batches."""
    builder = PipelineBuilder().add_source(range(count))
    builder = builder.pipe(function, concurrency=NUM_THREADS, output_order="input")
    builder = builder.aggregate(work.BATCH_SIZE).pipe(np.stack).add_sink(NUM_BATCHES)
    pipeline = builder.build(num_threads=NUM_THREADS + 1)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


if __name__ == "__main__":
    work.run(batches)
