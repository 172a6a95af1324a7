"""Hugging Face datasets: an Arrow table that the first start makes, or a stream."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets

from benchmarks.first_batch import work
from benchmarks.first_batch.lines import middle_of


def loaded(home: Path, is_stream: bool) -> Any:
    """Returns the lines of all files."""
    datasets.disable_progress_bars()
    return datasets.load_dataset(
        "text",
        data_files={"train": work.files_of(home)},
        split="train",
        streaming=is_stream,
        cache_dir=str(cache_of(home)),
    )


def cache_of(home: Path) -> Path:
    """Returns where the table is kept."""
    return home.with_name(f"{home.name}-cache")


def cold(home: Path) -> Iterator[Any]:
    """Returns batches; there is no table."""
    shutil.rmtree(cache_of(home), ignore_errors=True)
    return permuted(home)


def permuted(home: Path, is_resumed: bool = False) -> Iterator[Any]:
    """Yields batches of all lines in random order."""
    rows = loaded(home, False).shuffle(seed=1)
    if is_resumed:
        rows = rows.select(range(middle_of(len(rows)), len(rows)))
    for batch in rows.iter(work.BATCH_SIZE):
        yield batch["text"]


def window(home: Path) -> Iterator[Any]:
    """Yields batches out of a buffer."""
    for batch in loaded(home, True).shuffle(seed=1, buffer_size=work.WINDOW).iter(work.BATCH_SIZE):
        yield batch["text"]


CASES = {
    "window": window,
    "cold": cold,
    "second": permuted,
    "resume": lambda home: permuted(home, True),
    work.PREPARE: cold,
}

if __name__ == "__main__":
    work.run(CASES)
