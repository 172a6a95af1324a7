"""Reads the measurements of each workload from benchmarks/RESULTS.md: our rate, and ratios.

Two kinds of tables are read, anywhere on the page. A table of many workloads has a column "a
pipeline, a second", rows whose first cell begins with W1, W2, ..., and ratio columns: "÷ NAME", or
"a pipeline ÷ this" after a column with names. A table of one workload has the format that the
benchmarks print. It follows a heading such as "### W8. TITLE" and has the column "headrace ÷ this"
(or "this ÷ headrace"). It replaces the workload's rows in tables of many workloads.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"
SHORT = {"Hugging Face datasets": "datasets", "PyTorch": "DataLoader"}
BY_HAND = "by hand"


@dataclass(frozen=True)
class Other:
    """A program with which a pipeline is compared.

    Attributes:
        name: A short name for pictures.
        text: The pipeline's rate divided by the program's rate, as written.
        is_by_hand: Whether it is a loop without a data-loading library.
    """

    name: str
    text: str
    is_by_hand: bool

    @property
    def ratio(self) -> float:
        """The ratio as a number."""
        return float(self.text)


@dataclass(frozen=True)
class Work:
    """The measurements of one workload.

    Attributes:
        name: "W8".
        title: A few words about the data.
        rate: Our examples per second, as written. Empty if only ratios are known.
        others: The other programs, fastest first.
    """

    name: str
    title: str
    rate: str
    others: Sequence[Other]


@dataclass(frozen=True)
class Table:
    """A table and the heading above it."""

    heading: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


def works(text: str) -> list[Work]:
    """Returns a page's workloads by number."""
    results = list(tables(text))
    alone = [work for table in results for work in _work_alone(table)]
    names = {work.name for work in alone}
    among = [work for table in results for work in _works_among(table)]
    queues = [work for table in results for work in _queues(table)]
    others = [work for work in [*among, *queues] if work.name not in names]
    return sorted([*alone, *others], key=lambda work: int(work.name[1:]))


def tables(text: str) -> Iterator[Table]:
    """Yields the tables of a page."""
    heading = ""
    for block in re.findall(r"(?:^\|.*(?:\n|\Z))+|^#+ .*$", text, re.MULTILINE):
        if block.startswith("#"):
            heading = block.lstrip("# ")
        else:
            lines = [line.strip().strip("|") for line in block.splitlines()]
            names, _, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
            yield Table(heading, names, rows)


def first_batches(text: str) -> list[tuple[str, float]]:
    """Returns the time to the first batch of each W7 program, in seconds."""
    table = next(table for table in tables(text) if table.names[1:2] == ["first batch, s"])
    others = [(row[0], float(row[1])) for row in table.rows if "TensorFlow 1" not in row[0]]
    return [(_short(name.partition(", best")[0]), seconds) for name, seconds in others]


def _works_among(table: Table) -> Iterator[Work]:
    if "a pipeline, a second" not in table.names:
        return
    first: Sequence[str] = [""]
    for row in table.rows:
        name, _, title = row[0].partition(",")
        # A variant of a workload is compared with the same programs as the first variant.
        first = first if first[0].partition(",")[0] == name else row
        others = []
        for position, column in enumerate(table.names):
            if not _is_number(row[position]):
                continue
            if column.startswith("÷ "):
                others.append(_other(column[2:], row[position]))
            elif column == "a pipeline ÷ this":
                other = row[position - 1] or first[position - 1]
                hand = f" {BY_HAND}" if BY_HAND in table.names[position - 1] else ""
                others.append(_other(f"{other}{hand}", row[position]))
        if others:
            rate = row[table.names.index("a pipeline, a second")]
            yield Work(name, title.strip(), rate, _sorted(others))


def _sorted(others: Iterable[Other]) -> list[Other]:
    return sorted(others, key=lambda other: other.ratio)


def _work_alone(table: Table) -> Iterator[Work]:
    heading = re.fullmatch(r"(W\d+)\. (.*)", table.heading)
    positions = [
        position
        for position, column in enumerate(table.names)
        if re.fullmatch(r"headrace[\w-]* ÷ this|this ÷ headrace", column)
    ]
    if heading is None or not positions:
        return
    position = positions[0]
    rows = {row[0]: row for row in table.rows}
    # If there are also programs with TensorFlow 1's names, the column compares those programs.
    base = rows.get("headrace, a pipeline") or next(
        (
            row
            for title, row in rows.items()
            if title.startswith("headrace") and _is_one(row[position])
        ),
        None,
    )
    if base is None:
        return
    others = [
        _other(title, row[position] if _is_one(base[position]) else _ratio(base[1], row[1]))
        for title, row in rows.items()
        if not title.startswith(("headrace", "limit")) and _is_number(row[position])
    ]
    way = base[0].partition(", ")[2].removeprefix("a pipeline")
    title = ", ".join(part for part in (heading[2], way) if part)
    rate = base[1] if table.names[1].endswith("/s") else ""
    yield Work(heading[1], title, rate, _sorted(others))


def _queues(table: Table) -> Iterator[Work]:
    if table.names[:1] != ["one at a time"]:
        return
    base, *others = [row for row in table.rows if "*" not in row[0]]
    results = [
        _other(row[0].partition(",")[0], row[2])
        for row in others
        if row[0].startswith("`queue.") and _is_number(row[2])
    ]
    title = "queues, one element at a time"
    yield Work("W6", title, base[1], _sorted(results))


def _other(name: str, ratio: str) -> Other:
    is_by_hand = BY_HAND in name or "NumPy" in name or "get_batch" in name
    return Other(_short(name), ratio, is_by_hand)


def _short(name: str) -> str:
    for long, short in SHORT.items():
        name = name.replace(long, short)
    for ending in (f" {BY_HAND}", ", two workers", ", two threads"):
        name = name.removesuffix(ending)
    return name.replace("`", "")


def _is_one(cell: str) -> bool:
    return _is_number(cell) and float(cell) == 1


def _ratio(ours: str, theirs: str) -> str:
    ratio = float(ours.replace(",", "")) / float(theirs.replace(",", ""))
    return f"{ratio:.2f}" if 0.95 < ratio < 1.1 else f"{ratio:.2g}"


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", cell) is not None
