"""Passes a journal's examples to the engine, in blocks."""

import threading
import time
from threading import get_ident
from typing import Final

from headrace.core import engine
from headrace.pipeline.functions.python_functions import RunningCalls
from headrace.pipeline.journals.arrivals import Grouping
from headrace.pipeline.journals.columns import Shapes, column_of_parts
from headrace.pipeline.journals.deletion import position_of, state_text
from headrace.pipeline.journals.directory import Description, JournalDirectory
from headrace.pipeline.journals.reader import Block, JournalReader, Part

__all__ = ["JournalWorker"]


class JournalWorker:
    """Passes a journal's examples to the engine. See `PythonWorker`.

    A pass ends when all writers have closed the journal. The next pass contains the examples
    appended after that.

    Args:
        files: The journal's files.
        description: The journal's description, or None if nothing was appended before all writers
            closed.
        grouping: How rows are grouped into examples.
        shapes: See `group_shapes`. None if each row is an example.
        poll_s: How often to look for new rows, in seconds.
        is_recorded: Whether to record the order of arrival.

    Attributes:
        too_old: The number of rows dropped because of their age.
        left_out: The number of rows in incomplete groups at the end.
    """

    num_callers = 1
    initial = None
    function = None

    def __init__(
        self,
        files: JournalDirectory,
        description: Description | None,
        grouping: Grouping,
        shapes: Shapes | None,
        poll_s: float,
        is_recorded: bool,
    ) -> None:
        self.running: dict[int, RunningCalls] = {}
        self.too_old = 0
        self.left_out = 0
        self._files = files
        self._description = description
        self._grouping = grouping
        self._shapes = shapes
        self._poll_s = poll_s
        self._is_recorded = is_recorded
        self._where: Final = f"journal({files.path})"
        self._ended: Final = threading.Event()
        # Held while a block is read.
        self._mutex: Final = threading.Lock()
        self._newest: int | None = None
        self._readers: list[JournalReader] = []
        # The reader of the current pass, and the number of the pass.
        self._reader: JournalReader | None = None
        self._pass: int | None = None
        # The reader that has reached the end of its pass; the next pass continues with it.
        self._behind_pass: JournalReader | None = None
        self._is_finished = description is None
        # The number of examples to skip in the next blocks.
        self._num_skipped = 0

    @property
    def is_over(self) -> bool:
        """See `PythonWorker`."""
        return self._ended.is_set()

    @is_over.setter
    def is_over(self, value: bool) -> None:
        if value:
            self._ended.set()
            self._close_if_idle()

    def set_version(self, version: int) -> None:
        """Sets the version that the age of rows is measured against."""
        self._newest = version

    def process(self, job: engine.Job) -> None:
        """Passes the next examples to the engine, or none at the end."""
        result = _Reading(self._where)
        self.running[get_ident()] = result
        try:
            with self._mutex:
                self._process(job, result)
        except BaseException as error:
            job.keep([], error)
        finally:
            del self.running[get_ident()]
            self._close_if_idle()

    def _process(self, job: engine.Job, result: "_Reading") -> None:
        reader = result.reader = self._reader_of(job)
        if reader is None:
            return job.keep([], None, None, ())
        while True:
            reader.newest = self._newest
            block = reader.next_block(job.target_bytes)
            self.too_old, self.left_out = reader.num_dropped, reader.num_left_out
            if block is None:
                self._is_finished |= reader.is_finished
                # More blocks of this pass may have been requested.
                self._reader, self._behind_pass = None, reader
                return job.keep([], None, None, ())
            count = sum(part.last - part.first for part in block.parts) // self._grouping.size
            first, self._num_skipped = self._num_skipped, max(0, self._num_skipped - count)
            if first < count:
                return self._finish(job, block, first, count)

    def _reader_of(self, job: engine.Job) -> JournalReader | None:
        """Returns the reader of the job's pass; None if the pass is empty."""
        if self._pass == job.pass_number:
            return self._reader
        is_first, self._pass = self._pass is None, job.pass_number
        description = self._description
        if job.state is None and not is_first:
            # If a later stage has ended the last pass early, the iteration is over.
            self._reader = None if self._is_finished else self._behind_pass
            self._behind_pass = None
            return self._reader
        if description is None:
            return None
        reader = JournalReader(
            self._files,
            description,
            self._grouping,
            self._shapes or {},
            self._poll_s,
            self._ended,
            self._is_recorded,
        )
        position = None if job.state is None else position_of(description.number, job.state)
        start, first = (None, 0) if position is None else position
        self._num_skipped = first + job.first_row
        reader.start(start)
        self._readers.append(reader)
        self._reader = reader
        return reader

    def _finish(self, job: engine.Job, block: Block, first: int, count: int) -> None:
        assert self._description is not None
        size, specs = self._grouping.size, self._description.specs
        parts = _without_first(block.parts, first * size)
        columns = [
            column_of_parts(parts, index, name, spec, size, self._shapes)
            for index, (name, spec) in enumerate(specs.items())
        ]
        state = state_text(self._description.number, block.start, first)
        job.finish(columns, count - first, None, None, state, ())

    def _close_if_idle(self) -> None:
        """Closes the files at the end of the iteration, unless a block is being read."""
        if self._ended.is_set() and self._mutex.acquire(blocking=False):
            try:
                for reader in self._readers:
                    reader.close()
            finally:
                self._mutex.release()


class _Reading:
    """The block that is being read; see `RunningCalls`."""

    number = 0

    def __init__(self, where: str) -> None:
        self.where = where
        self.since = time.monotonic()
        self.reader: JournalReader | None = None

    @property
    def doing(self) -> str:
        """See `RunningCalls`."""
        waiting = None if self.reader is None else self.reader.doing
        return waiting or "reading its next rows"


def _without_first(parts: list[Part], num_rows: int) -> list[Part]:
    """Returns the parts without their first rows."""
    rest: list[Part] = []
    for part in parts:
        skipped = min(num_rows, part.last - part.first)
        num_rows -= skipped
        if part.first + skipped < part.last:
            rest.append(part._replace(first=part.first + skipped))
    return rest
