"""Reads a journal's examples in their order of arrival, and records that order."""

import os
import threading
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.core.errors import FailedPreconditionError
from headrace.core.wait_registry import RegisteredWait
from headrace.pipeline.journals.arrivals import Arrivals, Grouping, Segments, note_of
from headrace.pipeline.journals.directory import Description, JournalDirectory
from headrace.pipeline.journals.locks import is_free
from headrace.pipeline.journals.order import Content, Line, OrderLog, Start
from headrace.pipeline.journals.segments import Commit

__all__ = ["Block", "JournalReader", "Part", "wait_for_description"]

# The maximum number of rows in a block.
_BLOCK_ROWS: Final = 1024
# A new file of the order is started after about this many bytes of rows.
_BYTES_PER_FILE: Final = 64 << 20
# The first wait for new rows. Each further wait is twice as long, up to `poll_s`.
_FIRST_WAIT_S: Final = 0.001
# How many writers a message names.
_MOST_NAMED: Final = 3


class Part(NamedTuple):
    """Consecutive rows of a commit."""

    commit: Commit
    first: int
    last: int


class Block(NamedTuple):
    """The examples recorded by one line of the order of arrival.

    Attributes:
        start: The position of the line.
        parts: The rows, in order.
    """

    start: Start
    parts: list[Part]


class Waiter:
    """Waits for new rows, a little longer each time.

    Args:
        poll_s: The longest wait in seconds.
        is_over: An event that ends each wait.
    """

    def __init__(self, poll_s: float, is_over: threading.Event) -> None:
        self._poll_s = poll_s
        self._is_over = is_over
        self._seconds = _FIRST_WAIT_S

    def reset(self) -> None:
        """Starts with a short wait again."""
        self._seconds = _FIRST_WAIT_S

    def wait(self, describe: str) -> None:
        """Waits for some time, or until the end of the iteration."""
        with RegisteredWait(lambda: describe):
            self._is_over.wait(min(self._seconds, self._poll_s))
        self._seconds = min(2 * self._seconds, self._poll_s)


def wait_for_description(files: JournalDirectory, poll_s: float) -> Description | None:
    """Waits for the first append. Returns None if all writers close without appending."""
    waiter = Waiter(poll_s, threading.Event())
    while True:
        writers = files.writers()
        is_ended = bool(writers) and all(is_free(files.writer_lock(one)) for one in writers)
        if (description := files.description()) is not None or is_ended:
            return description
        waiter.wait(f"the first rows of the journal {files.path}")


class JournalReader:
    """Reads a journal's examples from a position in their order of arrival.

    Args:
        files: The journal's files.
        description: The journal's description.
        grouping: How rows are grouped into examples.
        shapes: See `group_shapes`. It is stored in the order of arrival.
        poll_s: How often to look for new rows, in seconds.
        is_over: An event that ends waits. After that, `next_block` returns None.
        is_recorded: Whether to record the order of arrival. If not, blocks have no position.

    Attributes:
        newest: The newest version, as set by the user, or None if there is none.
        num_dropped: The number of rows dropped because of their age.
        num_left_out: The number of rows in incomplete groups when the last pass ended.
        is_finished: Whether no more rows follow the end that `next_block` has reached.
        doing: The reason why the reader is waiting, or None if it is not waiting.
    """

    def __init__(
        self,
        files: JournalDirectory,
        description: Description,
        grouping: Grouping,
        shapes: dict[str, list[int] | None],
        poll_s: float,
        is_over: threading.Event,
        is_recorded: bool = True,
    ) -> None:
        self._files = files
        self._grouping = grouping
        self._shapes = shapes
        self._is_over = is_over
        self._is_recorded = is_recorded
        self._poll_s = poll_s
        self._waiter = Waiter(poll_s, is_over)
        self._segments = Segments(files, description)
        self._arrivals = Arrivals(files, description, self._segments, grouping)
        self._log = OrderLog(files, description.number)
        # The end of the order when the iteration started. Ends recorded before it are ignored.
        self._history_end = Start(-1, 0)
        self._has_rows = False
        self._looked = -poll_s
        self._notes: dict[int, str] = {}
        self.newest: int | None = None
        self.num_dropped = 0
        self.num_left_out = 0
        self.is_finished = False
        self.doing: str | None = None

    def start(self, position: Start | None) -> None:
        """Continues from a line, or from the beginning.

        Raises:
            FailedPreconditionError: If the line is missing, or was recorded with other arguments.
        """
        orders = self._files.orders()
        if not orders:
            if position is not None:
                raise self._missing(position)
            return
        self._history_end = Start(orders[-1], os.path.getsize(self._files.order(orders[-1])))
        if not self._is_recorded:
            position = Start(orders[0], 0)
        first = Start(0, 0) if position is None else position
        if first.file not in orders or first > self._history_end:
            raise self._missing(position)
        self._log.open(first.file)
        # Lines before the position record which rows have already been delivered.
        while self._log.next < first:
            line = self._log.read()
            if line is None or line.start.file != first.file:
                raise self._missing(position)
            self._note(line)
        if self._log.next != first:
            raise self._missing(position)

    def _missing(self, position: Start | None) -> FailedPreconditionError:
        if position is None:
            text = (
                "the beginning of the journal has been deleted by Journal.delete_before. Resume "
                "from a state, or continue with a new journal."
            )
        else:
            text = (
                f"the order of arrival has no line at byte {position.offset} of file "
                f"{self._files.order(position.file)}, where the state continues. Resume from a "
                "later state if the file has been deleted by Journal.delete_before, or from an "
                "earlier one if the machine has failed since."
            )
        return FailedPreconditionError(None, None, f"journal: {self._files.path}: {text}")

    def next_block(self, target_bytes: int) -> Block | None:
        """Waits for the next examples. Returns None when all writers have closed the journal.

        If processes have reopened the journal since then, the next call returns their examples. The
        order of arrival records each such end, so every iteration ends at the same examples.

        Raises:
            OpError: If a file is damaged, or the order of arrival cannot be recorded.
        """
        self._waiter.reset()
        while not self._is_over.is_set():
            line = self._log.read() if self._log.is_open else None
            if line is not None:
                self._note(line)
            else:
                line = self._extended(target_bytes)
            if line is None:
                self._wait()
                continue
            content = line.content
            self.num_dropped += sum(run[4] for run in content.get("d", ()))
            if "end" in content:
                self.num_left_out = content["end"]
                self.is_finished = line.start >= self._history_end
                return None
            if "r" in content:
                self.doing = None
                return Block(line.start, [self._part(run) for run in content["r"]])
        return None

    def _part(self, run: Sequence[int]) -> Part:
        writer, segment, offset, first, count = run
        return Part(self._segments.recorded(writer, segment, offset), first, first + count)

    def _note(self, line: Line) -> None:
        """Updates the record of undelivered rows from a line."""
        if line.start.offset == 0:
            self._check_arguments(line.content)
            self._arrivals.restore(line.content)
            self._has_rows = line.content["has_rows"]
        else:
            self._arrivals.apply(line.content)
            self._note_rows(line.content)

    def _note_rows(self, content: Content) -> None:
        """Updates whether there are examples since the last end."""
        self._has_rows = "end" not in content and (self._has_rows or "r" in content)

    def _check_arguments(self, first: Content) -> None:
        """Raises an error if the order was recorded with other arguments."""
        grouping = self._grouping
        mine = {"group": grouping.group, "group_size": grouping.size, "max_age": grouping.max_age}
        for name, value in mine.items():
            if first[name] != value:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"journal: {name} is {value!r}, but the order of arrival of {self._files.path} "
                    f"was recorded with {first[name]!r}. Use the same arguments, or copy the "
                    "journal without its order-* files.",
                )

    def _extended(self, target_bytes: int) -> Line | None:
        """Returns a new line; None if there are no examples yet or another process adds one."""
        if not self._is_recorded:
            content = self._new_content(target_bytes)
            return None if content is None else Line(self._log.next, content)
        lock = self._log.lock()
        if lock is None:
            return None
        with lock:
            line = self._next_recorded()
            if line is not None:
                self._note(line)
                return line
            content = self._new_content(target_bytes)
            if content is None:
                return None
            if "end" in content and not self._has_rows:
                # The end has been recorded already.
                return Line(self._log.next, content)
            start = self._log.append(content)
            self._note_rows(content)
            return Line(start, content)

    def _next_recorded(self) -> Line | None:
        """Returns the next line, and starts a new file first if the current one is full."""
        if not self._log.is_open:
            if not self._files.orders():
                self._create(0)
            self._log.open(0)
        line = self._log.read()
        is_full = self._log.is_full or self._arrivals.num_bytes >= _BYTES_PER_FILE
        if line is None and is_full:
            self._create(self._log.next.file + 1)
            line = self._log.read()
        return line

    def _create(self, number: int) -> None:
        grouping = self._grouping
        arguments = {
            "group": grouping.group,
            "group_size": grouping.size,
            "max_age": grouping.max_age,
            "shapes": self._shapes,
            "has_rows": self._has_rows,
        }
        self._log.create(number, {**arguments, **self._arrivals.first_content()})

    def _new_content(self, target_bytes: int) -> Content | None:
        """Returns the content of the next line; None if there is nothing to record yet."""
        # With a maximum age, record each example separately, just before it is delivered.
        most_rows = _BLOCK_ROWS if self._grouping.max_age is None else 1
        arrivals = self._arrivals
        content = arrivals.next_line(self.newest, most_rows, target_bytes)
        now = time.monotonic()
        if content and now - self._looked < self._poll_s:
            return content
        self._looked = now
        arrivals.look_for_writers()
        if content:
            return content
        if arrivals.num_writers == 0 or arrivals.open_writers():
            return None
        return {"end": arrivals.num_pending()}

    def _wait(self) -> None:
        writers = self._arrivals.open_writers()
        notes = [f"writer {writer} ({self._note_of(writer)})" for writer in writers[:_MOST_NAMED]]
        more = f" and {len(writers) - _MOST_NAMED} more" if len(writers) > _MOST_NAMED else ""
        self.doing = (
            f"waiting for rows from {', '.join(notes)}{more}"
            if notes
            else f"waiting for a process that opens the journal {self._files.path}"
        )
        self._waiter.wait(f"journal: {self.doing}")

    def _note_of(self, writer: int) -> str:
        if writer not in self._notes:
            self._notes[writer] = note_of(self._files.writer_lock(writer))[0]
        return self._notes[writer]

    def close(self) -> None:
        """Closes all files."""
        self._log.close()
        self._segments.close()
