"""headrace: indexes beside the files, and states of iterations."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks.first_batch import work

TEXT_LINES = hr.text_lines
"""Loaded with the import, as other libraries are; else it would be when it is first used."""


def described(home: Path, window: int | None) -> Any:
    """Returns a pipeline."""
    lines = TEXT_LINES(work.files_of(home)).shuffle(window=window, seed=1)
    return lines.batch(work.BATCH_SIZE)


def lines_of(batches: Any) -> Iterator[Sequence[bytes]]:
    """Yields the lines of each batch."""
    with iter(batches) as iterator:
        for batch in iterator:
            yield batch["text"].tolist()


def cold(home: Path) -> Iterator[Sequence[bytes]]:
    """Yields batches; there are no indexes."""
    for path in home.glob("*.hrindex"):
        path.unlink()
    yield from lines_of(described(home, None))


def resumed(home: Path, window: int | None) -> Iterator[Sequence[bytes]]:
    """Yields the batches after the middle, the first of which has to be the right one."""
    saved = json.loads(states_of(home, window).read_text())
    batches = lines_of(described(home, window).resume(saved["state"]))
    first = next(batches)
    if [work.number_of(line) for line in first] != saved["next"]:
        raise ValueError("another batch than without the interruption")
    yield first
    yield from batches


def states_of(home: Path, window: int | None) -> Path:
    """Returns the file that has a state in the middle of an epoch."""
    return home / f"state-{window}.json"


def prepare(home: Path) -> Iterator[Sequence[bytes]]:
    """Yields the last batch read, when indexes and states are written."""
    next(cold(home))
    for window in (None, work.WINDOW):
        pipeline = described(home, window)
        with iter(pipeline) as batches:
            for _ in islice(batches, len(pipeline) // 2):
                pass
            state = batches.state()
            lines = next(batches)["text"].tolist()
        following = [work.number_of(line) for line in lines]
        states_of(home, window).write_text(json.dumps({"state": state, "next": following}))
    yield lines


CASES = {
    "window": lambda home: lines_of(described(home, work.WINDOW)),
    "cold": cold,
    "second": lambda home: lines_of(described(home, None)),
    "resume": lambda home: resumed(home, None),
    "resume-window": lambda home: resumed(home, work.WINDOW),
    work.PREPARE: prepare,
}

if __name__ == "__main__":
    work.run(CASES)
