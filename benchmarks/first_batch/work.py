"""The lines that programs read, and what a program does until its first batch is there."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BATCH_SIZE = 256
WINDOW = 10_000
NUM_FILES = 4

IMPORT = "import"
CASES = {
    IMPORT: "The import alone",
    "window": "Lines of text, a window of 10,000",
    "cold": "Lines of text, all shuffled, nothing left by an earlier start",
    "second": "The same at the second start, or with an index made ahead",
    "resume": "The same, resumed in the middle of an epoch",
    "resume-window": "A window of 10,000, resumed in the middle of an epoch",
}
PREPARE = "prepare"
"""The case that is not measured: it leaves what later starts find."""

Cases = Mapping[str, Callable[[Path], Iterable[Sequence[Any]]]]
"""For each case what returns batches of lines, `bytes` or `str`, of a directory of data."""


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"lines-{number}.txt") for number in range(NUM_FILES)]


def line_of(number: int) -> str:
    """Returns a line; its number says all of it."""
    return f"{number:08} {number * 2_654_435_761 % 2**32:08x} {'x' * (number % 12)}"


def number_of(line: bytes | str) -> int:
    """Returns the number of a line.

    Raises:
        ValueError: There is no such line.
    """
    text = line.decode() if isinstance(line, bytes) else str(line)
    number = int(text[:8])
    if text != line_of(number):
        raise ValueError(f"{text!r} is no line of the data")
    return number


def run(cases: Cases) -> None:
    """Takes the first batch of a case and prints a line of JSON.

    The command's arguments are the directory of the data and the case.
    """
    home, case = Path(sys.argv[1]), sys.argv[2]
    batch = [] if case == IMPORT else next(iter(cases[case](home)))
    now = time.monotonic()
    numbers = [number_of(line) for line in batch]
    figures = {
        "count": 1,
        "sums": [len(numbers), len(set(numbers))],
        "seconds": time.process_time(),
        "first_batch_at": now,
    }
    print(json.dumps(figures), flush=True)
