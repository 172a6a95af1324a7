"""Grain with two worker processes: `mp_prefetch`."""

from collections.abc import Callable, Iterable
from typing import Any

import grain
import numpy as np
from absl import flags

from benchmarks.functions import work


def batches(function: Callable[[int], np.ndarray], count: int) -> Iterable[Any]:
    """Returns batches."""
    flags.FLAGS(["with_grain"])
    data = grain.MapDataset.range(count).map(function).batch(work.BATCH_SIZE).to_iter_dataset()
    return data.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))


if __name__ == "__main__":
    work.run(batches)
