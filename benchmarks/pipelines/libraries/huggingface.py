"""Hugging Face datasets: digits and CSV files as Arrow tables, which are made at the first run."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

from collections.abc import Iterator
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from benchmarks.pipelines import consume, dataset
from benchmarks.pipelines.libraries import digits

POOL = 10_000


def digit_table(files: list[str]) -> Any:
    """Returns the digits as a table of bytes and labels."""
    home = dataset.ROOT / f"examples-arrow-{len(files)}"
    if not home.exists():
        images, labels = digits.parse_digits(list(digits.records_of(files)))
        pixels = np.rint((images + 0.5) * 255).astype(np.uint8)
        rows = pa.array([image.tobytes() for image in pixels], pa.binary(784))
        datasets.Dataset(pa.table({"image": rows, "label": labels})).save_to_disk(
            home, num_shards=8
        )
    return datasets.load_from_disk(home)


def digit_batch(table: Any) -> tuple[np.ndarray, np.ndarray]:
    image = table["image"].combine_chunks()
    begin = image.offset * 784
    pixels = np.frombuffer(image.buffers()[1], np.uint8)[begin : begin + 784 * len(image)]
    floats = pixels.reshape(-1, 784) * np.float32(1 / 255)
    floats -= np.float32(0.5)
    return floats, table["label"].to_numpy()


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    table = digit_table(files).to_iterable_dataset(num_shards=8).with_format("arrow")
    for epoch in range(num_epochs):
        batches = table.shuffle(seed=epoch, buffer_size=POOL).iter(128)
        yield from map(digit_batch, batches)


if __name__ == "__main__":
    datasets.disable_progress_bars()
    consume.run(batches_of)
