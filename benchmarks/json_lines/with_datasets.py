"""Hugging Face datasets: JSON lines as a stream with a buffer for shuffling."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets

from benchmarks import taking
from benchmarks.json_lines import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    # It would wait for five seconds after each epoch until its threads are gone.
    datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN = 0
    files = {"train": work.files_of(home)}
    data = datasets.load_dataset(
        "json", data_files=files, split="train", streaming=True, cache_dir=f"{home}-cache"
    ).with_format("arrow")
    for epoch in range(num_epochs):
        for table in data.shuffle(seed=epoch, buffer_size=work.WINDOW).iter(work.BATCH_SIZE):
            yield table[work.NUMBER].to_numpy(), table[work.TEXT]


if __name__ == "__main__":
    datasets.disable_progress_bars()
    taking.run(batches, work.sums_of)
