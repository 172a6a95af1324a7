"""Folder summaries, which fit on one screen for any number of files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from headrace.cli.inspect.report import ShownExample
from headrace.cli.inspect.text import kind_of, lines_of, position_of
from headrace.cli.wording import count_of, shortened, size, table

__all__ = ["Folder"]

# The maximum number of entries in each part. All parts together take about forty lines.
_MOST_KINDS: Final = 8
_MOST_FOLDERS: Final = 5
_MOST_DAMAGE: Final = 5
_MOST_FEATURES: Final = 12
_MOST_LETTERS: Final = 60


class Folder:
    """A summary of the files in a folder.

    Args:
        path: The path of the folder.

    Attributes:
        examples: The examples to show, each with the path of its file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._reports: list[dict[str, Any]] = []
        self._num_unread = 0
        self.examples: list[tuple[str, list[ShownExample]]] = []

    def add(self, report: dict[str, Any]) -> None:
        """Adds the report of a file."""
        # The features are shown only for the first file of a kind.
        is_first = all(report["kind"] != other["kind"] for other in self._reports)
        kept = ("file", "kind", "compression", "size_bytes", "unit", "count", "damage", "format")
        self._reports.append(
            report if is_first else {key: report[key] for key in kept if key in report}
        )

    def add_examples(self, path: str, shown: list[ShownExample]) -> None:
        """Adds a file's examples, which are shown after the summary."""
        if shown:
            self.examples.append((path, shown))

    def add_unread(self) -> None:
        """Adds a file that could not be read. Its name was printed to stderr."""
        self._num_unread += 1

    def lines(self) -> Iterator[str]:
        """Yields the lines of the summary."""
        yield self._path
        total = size(sum(report["size_bytes"] for report in self._reports))
        unread = f"; {self._num_unread:,} could not be read" if self._num_unread else ""
        yield f"  {count_of(len(self._reports), 'file')}, {total}{unread}"
        yield from self._kinds()
        yield from self._folders()
        yield from self._first()
        yield from self._damage()

    def _kinds(self) -> Iterator[str]:
        kinds = Counter(map(kind_of, self._reports)).most_common()
        rows = [("kind", "files", "size", "content")]
        for kind, number in kinds[:_MOST_KINDS]:
            reports = [report for report in self._reports if kind_of(report) == kind]
            total = size(sum(report["size_bytes"] for report in reports))
            rows.append((kind, f"{number:,}", total, _content(reports)))
        yield from table(rows, "    ")
        if len(kinds) > _MOST_KINDS:
            yield f"    and {count_of(len(kinds) - _MOST_KINDS, 'kind')} more"

    def _folders(self) -> Iterator[str]:
        names = Counter(
            os.path.relpath(report["file"], self._path).partition(os.sep)[0]
            for report in self._reports
            if os.path.dirname(report["file"]).rstrip(os.sep) != self._path.rstrip(os.sep)
        )
        if not names:
            return
        shown = [
            f"{shortened(name, _MOST_LETTERS)} ({count_of(number, 'file')})"
            for name, number in sorted(names.items())[:_MOST_FOLDERS]
        ]
        more = len(names) - len(shown)
        yield (
            f"  {count_of(len(names), 'folder')}: {', '.join(shown)}"
            f"{f' and {more:,} more' if more else ''}"
        )

    def _first(self) -> Iterator[str]:
        """Yields the lines for the first file of the kind with the most bytes."""
        sizes: Counter[str] = Counter()
        for report in self._reports:
            sizes[report["kind"]] += report["size_bytes"]
        for kind, _ in sizes.most_common():
            first = next(report for report in self._reports if report["kind"] == kind)
            if first.get("features"):
                lines = list(lines_of(first))
                yield f"  the first {kind_of(first)} file is {lines[0]}:"
                yield from (f"  {line}" for line in lines[2 : 2 + _MOST_FEATURES])
                if len(lines) > 2 + _MOST_FEATURES:
                    name = shortened(lines[0], 200)
                    yield f"    and more; run headrace inspect {name} to see all"
                return

    def _damage(self) -> Iterator[str]:
        damaged = [report for report in self._reports if report["damage"]]
        if not damaged:
            return
        yield f"  damage in {count_of(len(damaged), 'file')}:"
        for report in damaged[:_MOST_DAMAGE]:
            one, *others = report["damage"]
            more = f"; and {len(others):,} more" if others else ""
            file, reason = shortened(report["file"], _MOST_LETTERS), shortened(one["reason"], 160)
            yield f"    {file}: {position_of(one)}: {reason}{more}"
        if len(damaged) > _MOST_DAMAGE:
            yield f"    and {len(damaged) - _MOST_DAMAGE:,} more; run headrace verify to see all"


def _content(reports: list[dict[str, Any]]) -> str:
    """Returns the total contents of files of one kind, such as "1,200 records"."""
    counts = [report.get("count") for report in reports]
    present = [count for count in counts if count is not None]
    if not present or len(present) < len(counts):
        return ""
    unit = str(reports[0]["unit"])
    return count_of(sum(present), unit.removesuffix("s"), unit)
