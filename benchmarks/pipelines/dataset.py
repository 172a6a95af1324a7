"""The places of the benchmarks' data, and their expected contents."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = Path(__file__).parent.parent.parent / ".bench"
ROOT = Path(os.environ.get("HEADRACE_BENCH_DATA", HOME / "data"))


@dataclass(frozen=True)
class Part:
    """Some files of a data set.

    Attributes:
        files: Their names, relative to the directory of the data set.
        count: How many examples they hold.
        sums: What a program adds up that moved each example once, see `CHECKSUMS`.
    """

    files: list[str]
    count: int
    sums: list[int]


@dataclass(frozen=True)
class Selection:
    """The input of one run: files, and how often they are read; what has to come out of them."""

    files: list[str]
    num_epochs: int
    count: int
    sums: list[int]


def write(stem: str, parts: Sequence[Part]) -> None:
    """Says that a data set is complete, and what it holds."""
    path = ROOT / stem / "parts.json"
    path.write_text(json.dumps([asdict(part) for part in parts]))


def parts_of(stem: str) -> list[Part]:
    """Returns the parts of a data set."""
    return [Part(**part) for part in json.loads((ROOT / stem / "parts.json").read_text())]


def select(stem: str, parts: Sequence[Part], num_parts: int) -> Selection:
    """Returns the input that amounts to a number of parts.

    Fewer than there are: the first ones, once. More: all of them, as often as it takes.
    """
    chosen = parts[:num_parts]
    num_epochs = math.ceil(num_parts / len(chosen))
    return Selection(
        files=[str(ROOT / stem / name) for part in chosen for name in part.files],
        num_epochs=num_epochs,
        count=num_epochs * sum(part.count for part in chosen),
        sums=[num_epochs * sum(each) for each in zip(*(p.sums for p in chosen), strict=True)],
    )


def stem_of(task: str) -> str:
    """Returns the name of the data set that a task is done on."""
    return "images" if task == "augmented_images" else task
