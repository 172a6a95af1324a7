"""Grain with two worker processes: `mp_prefetch`."""

from collections.abc import Callable, Iterable
from typing import Any

import grain
import numpy as np
from absl import flags

from benchmarks.functions import work

# As many batches ahead as the others have. By default there are 500, so that a run of a few seconds
# would measure how they are handed over.
READING = grain.ReadOptions(num_threads=1, prefetch_buffer_size=4)


def batches(function: Callable[[int], np.ndarray], count: int) -> Iterable[Any]:
    """Returns batches."""
    flags.FLAGS(["with_grain"])
    data = grain.MapDataset.range(count).map(function).batch(work.BATCH_SIZE)
    return data.to_iter_dataset(READING).mp_prefetch(grain.MultiprocessingOptions(num_workers=2))


if __name__ == "__main__":
    work.run(batches)
