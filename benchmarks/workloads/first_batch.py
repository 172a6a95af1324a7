"""W15: the time from the start of a process to its first batch.

`python -m benchmarks.workloads.first_batch KEY CASE HOME` runs a case of a program.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.manual_loaders import lines_of, shuffled
from benchmarks.workload import BY_HAND, Part, Workload

BATCH_SIZE = 256
WINDOW = 10_000
NUM_FILES = 4
NEWLINE = 10

IMPORT, COLD, RESUME, RESUME_WINDOW = "import", "cold", "resume", "resume-window"
CASES = {
    IMPORT: "The import alone",
    "window": "Lines of text, a window of 10,000",
    COLD: "Lines of text, all shuffled, nothing left by an earlier start",
    "second": "The same at the second start, or with an index made ahead",
    RESUME: "The same, resumed in the middle of an epoch",
    RESUME_WINDOW: "A window of 10,000, resumed in the middle of an epoch",
}
PREPARE = "prepare"
"""A case that is not measured: it writes the caches for later starts."""
PERMUTED = (IMPORT, COLD, "second", RESUME)
"""The cases of programs that read lines by number."""


def make(home: Path, count: int) -> list[Part]:
    """Writes lines of 18 to 29 letters into files."""
    for name, (begin, end) in zip(files_of(home), bounds_of(count, NUM_FILES), strict=True):
        with open(name, "w") as file:
            file.writelines(f"{line_of(number)}\n" for number in range(begin, end))
    return [Part([], count, [])]


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"lines-{number}.txt") for number in range(NUM_FILES)]


def line_of(number: int) -> str:
    """Returns the line with a number. The number determines the whole line."""
    return f"{number:08} {number * 2_654_435_761 % 2**32:08x} {'x' * (number % 12)}"


def number_of(line: bytes | str) -> int:
    """Returns the number of a line.

    Raises:
        ValueError: If there is no such line.
    """
    text = line.decode() if isinstance(line, bytes) else str(line)
    number = int(text[:8])
    if text != line_of(number):
        raise ValueError(f"{text!r} is no line of the data")
    return number


def sums_of(batch: Any) -> list[int]:
    """Returns 1 (a batch), the number of lines, and the number of distinct lines."""
    numbers = [number_of(line) for line in batch]
    return [1, len(numbers), len(set(numbers))]


W15 = Workload(
    __name__,
    "W15",
    "first_batch",
    "The time from the start of the process to the first batch, of 256",
    "starts",
    sums_of,
    count=2_000_000,
    make=make,
    num_epochs=1,
)


@W15.program(
    "headrace", "headrace", "`hr.text_lines`; indexes are kept", imports=["headrace.pipeline"]
)
def with_headrace(home: Path, case: str) -> Iterator[Sequence[bytes]]:
    import headrace as hr

    def described(window: int | None) -> Any:
        return hr.text_lines(files_of(home)).shuffle(window=window, seed=1).batch(BATCH_SIZE)

    def lines(batches: Any) -> Iterator[Sequence[bytes]]:
        with iter(batches) as iterator:
            for batch in iterator:
                yield batch["text"].tolist()

    def state_path(window: int | None) -> Path:
        return home / f"state-{window}.json"

    window = WINDOW if "window" in case else None
    if case in (COLD, PREPARE):
        for path in home.glob("*.hrindex"):
            path.unlink()
    if case == PREPARE:
        next(lines(described(None)))
        for window in (None, WINDOW):
            pipeline = described(window)
            with iter(pipeline) as iterator:
                for _ in islice(iterator, len(pipeline) // 2):
                    pass
                state = iterator.state()
                following = next(iterator)["text"].tolist()
            saved = {"state": state, "next": [number_of(line) for line in following]}
            state_path(window).write_text(json.dumps(saved))
        yield following
    elif case in (RESUME, RESUME_WINDOW):
        saved = json.loads(state_path(window).read_text())
        batches = lines(described(window).resume(saved["state"]))
        first = next(batches)
        if [number_of(line) for line in first] != saved["next"]:
            raise ValueError("another batch than without the interruption")
        yield first
        yield from batches
    else:
        yield from lines(described(window))


class Lines:
    """The lines of all files by number, with NumPy. Line ends are cached for later starts."""

    def __init__(self, home: Path, case: str) -> None:
        self._files = [np.memmap(name, np.uint8, "r") for name in files_of(home)]
        path = home / "ends.npz"
        if case in (COLD, PREPARE):
            path.unlink(missing_ok=True)
            self._ends = [np.flatnonzero(data == NEWLINE) for data in self._files]
            np.savez(path, *self._ends)
        else:
            with np.load(path) as arrays:
                self._ends = [arrays[name] for name in arrays.files]
        self._counts = np.cumsum([len(each) for each in self._ends])

    def __len__(self) -> int:
        return int(self._counts[-1])

    def __getitem__(self, number: int) -> bytes:
        file = int(np.searchsorted(self._counts, number, "right"))
        position = int(number) - (int(self._counts[file - 1]) if file else 0)
        ends = self._ends[file]
        begin = int(ends[position - 1]) + 1 if position else 0
        return self._files[file][begin : int(ends[position])].tobytes()


def start_of(case: str, count: int) -> int:
    """Returns the first example that a case reads, in the middle of an epoch if it resumes."""
    return count // BATCH_SIZE // 2 * BATCH_SIZE if case in (RESUME, RESUME_WINDOW) else 0


@W15.program(
    BY_HAND,
    "NumPy by hand",
    "ends of lines are kept; after a resume a window reads all again",
    "numpy",
    cases=tuple(CASES),
)
def by_hand(home: Path, case: str) -> Iterator[Sequence[bytes]]:
    if case == "window":
        yield from shuffled(lines_of(files_of(home)), BATCH_SIZE, WINDOW)
        return
    lines = Lines(home, case)
    start = start_of(case, len(lines))
    if case == RESUME_WINDOW:
        batches = shuffled(lines_of(files_of(home)), BATCH_SIZE, WINDOW)
        yield from islice(batches, start // BATCH_SIZE, None)
        return
    order = np.random.default_rng(1).permutation(len(lines))
    for begin in range(start, len(lines), BATCH_SIZE):
        yield [lines[number] for number in order[begin : begin + BATCH_SIZE].tolist()]


@W15.program(
    "torch",
    "PyTorch, two workers",
    "`DataLoader(num_workers=2)` over lines by number; ends of lines are kept",
    "torch",
    ["torch", "torch.utils.data"],
    cases=PERMUTED,
)
def with_torch(home: Path, case: str) -> Iterable[Any]:
    import torch
    from torch.utils.data import DataLoader

    lines = Lines(home, case)
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(1)).tolist()
    rest = order[start_of(case, len(lines)) :]
    data: Any = lines
    return DataLoader(data, BATCH_SIZE, sampler=rest, num_workers=2, collate_fn=list)


@W15.program(
    "grain",
    "Grain",
    "two threads, over lines by number; ends of lines are kept",
    "grain",
    ["grain"],
    cases=PERMUTED,
)
def with_grain(home: Path, case: str) -> Iterable[Any]:
    import grain

    lines = Lines(home, case)
    data = grain.MapDataset.source(lines).shuffle(seed=1)
    if start := start_of(case, len(lines)):
        data = data.slice(slice(start, None))
    reading = grain.ReadOptions(num_threads=2, prefetch_buffer_size=1_024)
    return data.to_iter_dataset(reading).batch(BATCH_SIZE, batch_fn=list)


@W15.program(
    "datasets",
    "Hugging Face datasets",
    "an Arrow table is kept; a window is of a stream",
    "datasets",
    ["datasets"],
    cases=(*PERMUTED, "window"),
)
def with_datasets(home: Path, case: str) -> Iterator[Any]:
    import datasets

    datasets.disable_progress_bars()
    cache = home.with_name(f"{home.name}-cache")
    if case in (COLD, PREPARE):
        shutil.rmtree(cache, ignore_errors=True)
    rows = datasets.load_dataset(
        "text",
        data_files={"train": files_of(home)},
        split="train",
        streaming=case == "window",
        cache_dir=str(cache),
    )
    if case == "window":
        rows = rows.shuffle(seed=1, buffer_size=WINDOW)
    else:
        rows = rows.shuffle(seed=1)
        if start := start_of(case, len(rows)):
            rows = rows.select(range(start, len(rows)))
    for batch in rows.iter(BATCH_SIZE):
        yield batch["text"]


def main() -> None:
    """Takes the first batch of a case and prints a line of JSON."""
    key, case, home = sys.argv[1:]
    [program] = [program for program in W15.programs if program.key == key]
    assert program.function is not None
    for name in program.imports:
        import_module(name)
    batch = [] if case == IMPORT else next(iter(program.function(Path(home), case)))
    now = time.monotonic()
    count, *sums = sums_of(batch)
    figures = {
        "count": count,
        "sums": sums,
        "seconds": time.process_time(),
        "first_batch_at": now,
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
