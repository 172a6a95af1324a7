"""Grain: random access, shuffled by index, in threads. Digits come from its own format."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grain
import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from benchmarks.pipelines import consume, dataset
from benchmarks.pipelines.libraries import cifar, digits, folder

READING = grain.ReadOptions(num_threads=2, prefetch_buffer_size=16)
READING_PHOTOS = grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)


class Rows:
    """The records of CIFAR's files, by number."""

    def __init__(self, files: Sequence[str]) -> None:
        self._parts = [np.memmap(name, np.uint8, "r").reshape(-1, 3_073) for name in files]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __getitem__(self, index: int) -> np.ndarray:
        size = len(self._parts[0])
        return self._parts[index // size][index % size]


def converted(files: Sequence[str]) -> list[str]:
    """Returns files with the same records in Grain's own format, made at the first run."""
    home = dataset.ROOT / "examples-array-record"
    home.mkdir(exist_ok=True)
    names = []
    for name in files:
        target = home / f"{Path(name).stem}.array_record"
        names.append(str(target))
        if not target.exists():
            writer = ArrayRecordWriter(f"{target}.part", "group_size:1")
            for record in digits.records_of([name]):
                writer.write(record)
            writer.close()
            Path(f"{target}.part").rename(target)
    return names


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    source = {
        "examples": lambda: grain.sources.ArrayRecordDataSource(converted(files)),
        "photos": lambda: files,
    }.get(task, lambda: Rows(files))()
    data = grain.MapDataset.source(source).shuffle(seed=1).repeat(num_epochs)
    if task == "photos":
        return iter(data.map(folder.load).to_iter_dataset(READING_PHOTOS).batch(64))
    if task == "examples":
        return iter(data.batch(128, batch_fn=digits.parse_digits).to_iter_dataset(READING))
    data = data.batch(128, batch_fn=np.stack)
    if task == "images":
        return iter(data.map(cifar.decode).to_iter_dataset(READING))
    return iter(data.seed(3).random_map(cifar.augment).to_iter_dataset(READING))


if __name__ == "__main__":
    consume.run(batches_of)
