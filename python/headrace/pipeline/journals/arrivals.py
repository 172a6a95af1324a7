"""The rows that have been appended but not delivered, in all segments of a journal."""

import json
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.core.errors import DataLossError, NotFoundError
from headrace.pipeline.journals.directory import Description, JournalDirectory
from headrace.pipeline.journals.locks import is_free
from headrace.pipeline.journals.order import Content, Run
from headrace.pipeline.journals.segments import Commit, SegmentReader

__all__ = ["Arrivals", "Grouping", "Segments", "is_too_old"]

_LOG: Final = logging.getLogger("headrace.pipeline")

# How many bytes of commits to keep in memory for rereading.
_KEPT_BYTES: Final = 64 << 20
_MOST_OPEN: Final = 64
# How many rows of a commit are grouped at a time.
_COLLECTED_ROWS: Final = 256

# A row: the writer, the segment, the commit's offset and the number of the row in the commit.
_Row: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Grouping:
    """How rows are grouped into examples.

    Attributes:
        group: The component whose value the rows of a group share, or None for single rows.
        size: The number of rows in an example.
        max_age: How many versions old a row may be, or None for any age.
    """

    group: str | None
    size: int
    max_age: int | None


def is_too_old(version: int, newest: int | None, max_age: int | None) -> bool:
    """Returns whether rows of a version are dropped."""
    return newest is not None and max_age is not None and newest - version > max_age


class Segments:
    """All segments of a journal. The latest commits are kept in memory.

    Args:
        files: The journal's files.
        description: The journal's description.
    """

    def __init__(self, files: JournalDirectory, description: Description) -> None:
        self._files = files
        self._description = description
        self._readers: OrderedDict[tuple[int, int], SegmentReader] = OrderedDict()
        self._commits: OrderedDict[tuple[int, int, int], Commit] = OrderedDict()
        self._kept_bytes = 0

    def exists(self, writer: int, number: int) -> bool:
        """Returns whether a segment exists."""
        return self._reader(writer, number) is not None

    def size(self, writer: int, number: int) -> int:
        """Returns a segment's size in bytes, or 0 if it does not exist."""
        reader = self._reader(writer, number)
        return 0 if reader is None else reader.size()

    def read(self, writer: int, number: int, offset: int, is_open: bool) -> Commit | None:
        """Returns a commit, or None if it is missing. See `SegmentReader.read`."""
        key = (writer, number, offset)
        if (commit := self._commits.get(key)) is not None:
            self._commits.move_to_end(key)
            return commit
        reader = self._reader(writer, number)
        commit = None if reader is None else reader.read(offset, is_open)
        if commit is not None:
            self._commits[key] = commit
            self._kept_bytes += commit.end - commit.offset
            while self._kept_bytes > _KEPT_BYTES and len(self._commits) > 1:
                _, old = self._commits.popitem(last=False)
                self._kept_bytes -= old.end - old.offset
        return commit

    def recorded(self, writer: int, number: int, offset: int) -> Commit:
        """Returns a commit that the order of arrival refers to.

        Raises:
            DataLossError: If the commit is missing.
        """
        commit = self.read(writer, number, offset, is_open=False)
        if commit is None:
            raise DataLossError(
                None,
                None,
                f"{self._files.segment(writer, number)}: the order of arrival refers to a commit "
                f"at byte {offset}, but the file is missing or ends before it. Restore the file "
                "from a copy, or continue with a new journal.",
            )
        return commit

    def _reader(self, writer: int, number: int) -> SegmentReader | None:
        key = (writer, number)
        if (reader := self._readers.get(key)) is not None:
            self._readers.move_to_end(key)
            return reader
        path = self._files.segment(writer, number)
        number_of_journal, specs = self._description.number, self._description.specs
        try:
            reader = SegmentReader(path, number_of_journal, writer, number, specs)
        except NotFoundError:
            return None
        if reader.size() < SegmentReader.first_offset:
            # If the disk is full, the writer removes the file.
            reader.close()
            return None
        self._readers[key] = reader
        if len(self._readers) > _MOST_OPEN:
            self._readers.popitem(last=False)[1].close()
        return reader

    def close(self) -> None:
        """Closes all files."""
        while self._readers:
            self._readers.popitem()[1].close()
        self._commits.clear()


class _Cursor(NamedTuple):
    """The position of a writer's next row: its segment, commit offset and number."""

    segment: int
    offset: int
    row: int


_FIRST: Final = _Cursor(0, SegmentReader.first_offset, 0)


class Arrivals:
    """The rows that no line of the order of arrival mentions yet.

    Call `restore` with the first line of a file of the order, and `apply` with each further line.
    Then `next_line` returns the content of the next line.

    Args:
        files: The journal's files.
        description: The journal's description.
        segments: The journal's segments.
        grouping: How rows are grouped into examples.

    Attributes:
        num_bytes: The approximate size of the rows that lines have mentioned since `restore`.
    """

    def __init__(
        self,
        files: JournalDirectory,
        description: Description,
        segments: Segments,
        grouping: Grouping,
    ) -> None:
        self._files = files
        self._segments = segments
        self._grouping = grouping
        self._key_column = (
            None if grouping.group is None else list(description.specs).index(grouping.group)
        )
        self.restore({})

    def restore(self, first: Content) -> None:
        """Continues from the first line of a file of the order of arrival."""
        self.num_bytes = 0
        self._newest: int | None = first.get("newest")
        self._cursors = {
            int(writer): _Cursor(*cursor) for writer, cursor in first.get("cursors", {}).items()
        }
        # All earlier writers have ended and been read completely, except writers with a cursor.
        self._num_writers: int = first.get("writers", 0)
        # The rows of each incomplete group, by the group's value. For each of these rows, the
        # group's value and the row's version.
        self._pending: dict[Any, list[_Row]] = {}
        self._key_of: dict[_Row, tuple[Any, int]] = {}
        # The rows of incomplete groups that are still to be read.
        self._unread = [_rows_of(run) for run in first.get("pending", ())]
        # Rows of later commits that lines already mention.
        self._mentioned = {row for run in first.get("mentioned", ()) for row in _rows_of(run)}
        self._last_writer = -1

    def first_content(self) -> Content:
        """Returns the content of the first line of a new file."""
        self._read_pending()
        pending = _runs_of(row for rows in self._pending.values() for row in rows)
        return {
            "newest": self._newest,
            "writers": self._num_writers,
            "cursors": {str(writer): list(cursor) for writer, cursor in self._cursors.items()},
            "pending": pending,
            "mentioned": _runs_of(sorted(self._mentioned)),
        }

    def apply(self, content: Content) -> None:
        """Removes the rows that a line mentions."""
        self._newest = content.get("v", self._newest)
        for run in (*content.get("d", ()), *content.get("r", ())):
            self._remove(tuple(run))

    def _remove(self, run: Run) -> None:
        writer, segment, offset, first, count = run
        cursor = self._cursors.get(writer, _FIRST)
        if self._key_column is None:
            self._see(writer)
            self._cursors[writer] = max(cursor, _Cursor(segment, offset, first + count))
            return
        for row in _rows_of(run):
            if row in self._key_of:
                self._forget(row)
            else:
                self._mentioned.add(row)

    def _forget(self, row: _Row) -> None:
        """Removes a row from its incomplete group."""
        key, _ = self._key_of.pop(row)
        rows = self._pending[key]
        rows.remove(row)
        if not rows:
            del self._pending[key]

    def _see(self, writer: int) -> None:
        """Adds all writers up to this one."""
        for number in range(self._num_writers, writer + 1):
            self._cursors[number] = _FIRST
        self._num_writers = max(self._num_writers, writer + 1)

    def num_pending(self) -> int:
        """Returns the number of rows in incomplete groups."""
        self._read_pending()
        return len(self._key_of)

    def next_line(self, newest: int | None, most_rows: int, target_bytes: int) -> Content:
        """Returns the next line, or an empty one if there is nothing to record.

        If a whole example is available, the line has at least one.

        Args:
            newest: The version that the user has set, or None if there is none.
            most_rows: The maximum number of rows, rounded up to whole examples.
            target_bytes: The approximate size of the line's rows in bytes.
        """
        self._read_pending()
        builder = _Builder()
        max_age = self._grouping.max_age
        is_newer = newest is not None and (self._newest is None or newest > self._newest)
        if max_age is not None and is_newer:
            self._newest = builder.version = newest
            self._drop_pending(builder)
        while builder.num_rows < most_rows and builder.num_bytes < target_bytes:
            if (found := self._next_commit()) is None:
                break
            writer, commit = found
            cursor = self._cursors[writer]
            place = (writer, cursor.segment, commit.offset)
            if is_too_old(commit.version, self._newest, max_age):
                rows = range(cursor.row, commit.num_rows)
                builder.dropped.extend(
                    row for n in rows if not self._is_mentioned(row := (*place, n))
                )
                self._advance(writer, commit, commit.num_rows)
                continue
            if self._key_column is None:
                size = (commit.end - commit.offset) / commit.num_rows
                fitting = max(1, int((target_bytes - builder.num_bytes) / size))
                end = min(commit.num_rows, cursor.row + min(most_rows - builder.num_rows, fitting))
                builder.add([(*place, n) for n in range(cursor.row, end)], size)
                self._advance(writer, commit, end)
            else:
                self._collect(writer, commit, builder, most_rows, target_bytes)
        self.num_bytes += int(builder.num_bytes)
        return builder.content()

    def _collect(
        self, writer: int, commit: Commit, builder: "_Builder", most_rows: int, target_bytes: int
    ) -> None:
        """Adds rows of a commit to their groups, and complete groups to a line."""
        cursor = self._cursors[writer]
        size = (commit.end - commit.offset) / commit.num_rows
        last = min(commit.num_rows, cursor.row + _COLLECTED_ROWS)
        for number, key in enumerate(self._keys(commit, cursor.row, last), cursor.row):
            row = (writer, cursor.segment, commit.offset, number)
            if self._is_mentioned(row):
                continue
            rows = self._pending.setdefault(key, [])
            rows.append(row)
            self._key_of[row] = key, commit.version
            if len(rows) < self._grouping.size:
                continue
            for one in self._pending.pop(key):
                del self._key_of[one]
            builder.add(rows, size)
            if builder.num_rows >= most_rows or builder.num_bytes >= target_bytes:
                last = number + 1
                break
        self._advance(writer, commit, last)

    def _keys(self, commit: Commit, first: int, last: int) -> list[Any]:
        assert self._key_column is not None
        column = commit.columns[self._key_column]
        if column.ends is not None:
            return column.strings(first, last)
        keys: list[Any] = column.numbers(first, last).tolist()
        return keys

    def _is_mentioned(self, row: _Row) -> bool:
        if row not in self._mentioned:
            return False
        self._mentioned.remove(row)
        return True

    def _advance(self, writer: int, commit: Commit, row: int) -> None:
        cursor = self._cursors[writer]
        is_read = row >= commit.num_rows
        self._cursors[writer] = (
            _Cursor(cursor.segment, commit.end, 0)
            if is_read
            else _Cursor(cursor.segment, commit.offset, row)
        )

    def _drop_pending(self, builder: "_Builder") -> None:
        """Drops the rows of incomplete groups that have become too old."""
        for row, (_, version) in list(self._key_of.items()):
            if is_too_old(version, self._newest, self._grouping.max_age):
                builder.dropped.append(row)
                self._forget(row)

    def _read_pending(self) -> None:
        """Looks up the groups of the rows that were pending at the start of the file."""
        unread, self._unread = self._unread, []
        for rows in unread:
            commit = self._segments.recorded(*rows[0][:3])
            keys = self._keys(commit, rows[0][3], rows[-1][3] + 1)
            for row, key in zip(rows, keys, strict=True):
                if not self._is_mentioned(row):
                    self._pending.setdefault(key, []).append(row)
                    self._key_of[row] = key, commit.version

    def _next_commit(self) -> tuple[int, Commit] | None:
        """Returns the next commit with rows, taking writers in turn; None if there is none yet."""
        writers = sorted(self._cursors)
        after = [writer for writer in writers if writer > self._last_writer]
        for writer in (*after, *writers[: len(writers) - len(after)]):
            commit = self._commit_of(writer, is_open=True)
            if commit is not None:
                self._last_writer = writer
                return writer, commit
        return None

    def _commit_of(self, writer: int, is_open: bool) -> Commit | None:
        """Returns a writer's next commit; None if there is none."""
        while True:
            cursor = self._cursors[writer]
            commit = self._segments.read(writer, cursor.segment, cursor.offset, is_open)
            if commit is None and self._segments.exists(writer, cursor.segment + 1):
                # The segment was finished before the next one appeared.
                commit = self._segments.read(writer, cursor.segment, cursor.offset, is_open=False)
                if commit is None:
                    self._check_end(writer, cursor)
                    self._cursors[writer] = _FIRST._replace(segment=cursor.segment + 1)
                    continue
            if commit is None or cursor.row < commit.num_rows:
                return commit
            self._advance(writer, commit, commit.num_rows)

    def _check_end(self, writer: int, cursor: _Cursor) -> None:
        """Raises DataLossError if a finished segment ends in the middle of a commit."""
        size = self._segments.size(writer, cursor.segment)
        if size > cursor.offset:
            raise DataLossError(
                None,
                None,
                f"{self._files.segment(writer, cursor.segment)}: the commit at byte "
                f"{cursor.offset} was cut short, although the writer continued in the next file. "
                "Restore the file from a copy, or continue with a new journal.",
            )

    def look_for_writers(self) -> None:
        """Adds new writers, and removes ended writers whose rows have all been read."""
        for writer in self._files.writers():
            self._see(writer)
        for writer in list(self._cursors):
            # A process that has ended cannot append more rows.
            if is_free(self._files.writer_lock(writer)) and self._commit_of(writer, False) is None:
                self._report_end(writer)
                del self._cursors[writer]

    def open_writers(self) -> list[int]:
        """Returns the writers that may append more rows, as of the last `look_for_writers`."""
        return sorted(self._cursors)

    @property
    def num_writers(self) -> int:
        """The number of writers so far, as of the last `look_for_writers`."""
        return self._num_writers

    def _report_end(self, writer: int) -> None:
        """Warns if a process ended without closing the journal."""
        path = self._files.writer_lock(writer)
        note, is_closed = note_of(path)
        if is_closed:
            return
        cursor = self._cursors[writer]
        size = self._segments.size(writer, cursor.segment)
        lost = " Its last append was cut short, so those rows are left out." * (
            size > cursor.offset
        )
        _LOG.warning(
            "journal: writer %d (%s) ended without closing the journal %s.%s",
            writer,
            note,
            self._files.path,
            lost,
        )


def note_of(path: str) -> tuple[str, bool]:
    """Describes a writer's process, and returns whether it has closed the journal."""
    try:
        with open(path, encoding="utf-8") as file:
            first, *rest = file.read().splitlines() or [""]
        note = json.loads(first)
        return f"process {note['process']} on {note['host']}", "closed" in rest
    except (OSError, ValueError, KeyError):
        return "an unknown process", False


class _Builder:
    """A line under construction."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.dropped: list[_Row] = []
        self.version: int | None = None
        self.num_bytes = 0.0

    @property
    def num_rows(self) -> int:
        return len(self.rows)

    def add(self, rows: Sequence[_Row], row_bytes: float) -> None:
        """Adds rows of about this size."""
        self.rows.extend(rows)
        self.num_bytes += row_bytes * len(rows)

    def content(self) -> Content:
        content: Content = {}
        if self.version is not None:
            content["v"] = self.version
        if self.dropped:
            content["d"] = _runs_of(self.dropped)
        if self.rows:
            content["r"] = _runs_of(self.rows)
        return content


def _rows_of(run: Sequence[int]) -> list[_Row]:
    writer, segment, offset, first, count = run
    return [(writer, segment, offset, number) for number in range(first, first + count)]


def _runs_of(rows: "Iterator[_Row] | Sequence[_Row]") -> list[list[int]]:
    """Returns rows as runs of consecutive rows of one commit."""
    runs: list[list[int]] = []
    for writer, segment, offset, number in rows:
        last = runs[-1] if runs else None
        if last and last[:3] == [writer, segment, offset] and last[3] + last[4] == number:
            last[4] += 1
        else:
            runs.append([writer, segment, offset, number, 1])
    return runs
