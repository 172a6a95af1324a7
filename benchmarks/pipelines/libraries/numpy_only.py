"""NumPy without a library for loading, in one thread: what a user writes by hand."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.pipelines import consume
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled, shuffled_rows


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    names = epochs_of(files, num_epochs)
    # Each task imports what it needs, since the time to the first batch counts, and the memory.
    if task == "examples":
        from benchmarks.pipelines.libraries import digits  # noqa: PLC0415

        yield from map(digits.parse_digits, shuffled(digits.records_of(names), 128))
    elif task == "lines":
        from benchmarks.pipelines.libraries import text  # noqa: PLC0415

        yield from shuffled(text.lines_of(names), 1_024)
    elif task == "photos":
        from benchmarks.pipelines.libraries import folder  # noqa: PLC0415

        for begin in range(0, len(names), 64):
            yield folder.stack([folder.load(name) for name in names[begin : begin + 64]])
    else:
        from benchmarks.pipelines.libraries import cifar  # noqa: PLC0415

        generator = np.random.default_rng(0)
        for (records,) in shuffled_rows(cifar.records_of(names), 128):
            yield (cifar.decode(records) if task == "images" else cifar.augment(records, generator))


if __name__ == "__main__":
    consume.run(batches_of)
