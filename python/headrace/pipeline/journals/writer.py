"""`Journal`: appends rows to a journal."""

import json
import os
import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from headrace.core.errors import FailedPreconditionError
from headrace.io.os_errors import os_errors
from headrace.pipeline.journals.deletion import delete_before
from headrace.pipeline.journals.directory import Description, JournalDirectory, directory_of
from headrace.pipeline.journals.locks import FileLock
from headrace.pipeline.journals.rows import encode_rows, learned_specs
from headrace.pipeline.journals.segments import SegmentWriter

__all__ = ["Journal"]

# Once a segment has reached this size, a new one is started.
_SEGMENT_BYTES: Final = 64 << 20


class Journal:
    """Appends rows to a journal, a queue on disk that a pipeline reads with `hr.journal`.

    Any number of processes can append at the same time. Each of them opens its own `Journal`, which
    writes to its own files. Appended rows survive if a process is killed. After a power failure,
    rows from the last few seconds may be missing, unless you set `sync`.

    The pipeline ends when all writers are closed. A process that has ended counts as closed, even
    if it was killed. If several processes append, open all writers before you close the first.

    Args:
        directory: The directory of the journal. It is created if necessary. It must be on a file
            system that supports file locks and that all processes share.
        sync: Whether each `append` waits until its rows are on disk.

    Attributes:
        directory: The directory of the journal.

    Raises:
        OpError: If the directory cannot be created or written.
        TypeError: If the directory is neither a string nor a `pathlib.Path`.
        ValueError: If the directory is a URL.

    Examples:
        >>> with hr.Journal("rollouts") as journal:
        ...     journal.append([{"prompt": 7, "tokens": [1, 2]}, {"prompt": 7, "tokens": [3]}])
        >>> for row in hr.journal("rollouts"):
        ...     print(row["prompt"], row["tokens"])
        7 [1 2]
        7 [3]
    """

    def __init__(self, directory: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.directory: Final = directory_of("Journal", directory)
        self._files: Final = JournalDirectory(self.directory)
        self._sync: Final = sync
        self._process: Final = os.getpid()
        self._mutex: Final = threading.Lock()
        self._segment: SegmentWriter | None = None
        self._num_segments = 0
        with os_errors(self.directory, ". Choose a directory that you can write to."):
            os.makedirs(self.directory, exist_ok=True)
            with self._files.lock():
                self._description: Description | None = self._files.description()
                self._number, self._lock = self._added()

    def _added(self) -> tuple[int, FileLock]:
        """Adds a writer to the journal, and returns its number and its lock."""
        number = max(self._files.writers(), default=-1) + 1
        path = self._files.writer_lock(number)
        # A reader must not see the file before it is locked.
        lock = FileLock.acquire(path + ".new", waits=True)
        assert lock is not None
        try:
            os.ftruncate(lock.file, 0)
            note = json.dumps({"process": os.getpid(), "host": socket.gethostname()})
            os.write(lock.file, note.encode() + b"\n")
            os.rename(path + ".new", path)
        except BaseException:
            lock.close()
            raise
        return number, lock

    def append(self, rows: Iterable[Mapping[str, Any]], version: int = 0) -> None:
        """Appends rows. After a crash, either all rows of a call are in the journal or none.

        The components and their types are fixed by the first append to the journal. The sizes of
        axes may vary. A call with many rows is faster than many calls.

        Args:
            rows: The rows, as dicts of NumPy values, numbers, strings or `bytes`. Values are
                converted as in `Pipeline.map`.
            version: The version of the model that generated the rows. If the pipeline has
                `max_age`, it drops rows that are too old.

        Raises:
            FailedPreconditionError: If the journal is closed, or was opened before a fork.
            ResourceExhaustedError: If the disk or a quota is full. The journal is then unchanged.
            TypeError: If a row is not a dict, or a value's type differs from the first append's.
            ValueError: If a row's components or a value's number of axes differ from the first
                append's, or `version` is negative.
        """
        if isinstance(rows, Mapping):
            raise TypeError("append: got a dict, expected a list of dicts. Write append([row]).")
        if isinstance(version, bool) or not hasattr(version, "__index__"):
            raise TypeError(f"append: version is {version!r}, expected an int.")
        if not 0 <= version < 2**63:
            raise ValueError(f"append: version is {version}, expected a number of at least 0.")
        batch = list(rows)
        with self._mutex:
            self._check_open()
            if not batch:
                return
            description = self._described(batch)
            payload = encode_rows(batch, description.specs)
            segment = self._current_segment(description)
            segment.append(len(batch), int(version), payload)
            if self._sync:
                segment.sync()

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise FailedPreconditionError(
                None,
                None,
                f"{self.directory}: this journal was opened before a fork, and belongs to the "
                "parent process. Open a Journal in each process.",
            )
        if self._lock.file < 0:
            raise FailedPreconditionError(
                None, None, f"{self.directory}: this journal is closed. Open a new Journal."
            )

    def _described(self, rows: list[Mapping[str, Any]]) -> Description:
        if self._description is None:
            for number, row in enumerate(rows):
                if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
                    kind = type(row).__name__
                    raise TypeError(
                        f"append: row {number} is {kind}, expected a dict with string keys."
                    )
            specs = learned_specs(rows)
            if not specs:
                raise ValueError("append: row 0 has no components, expected at least one.")
            # Rows that cannot be stored must not fix the components.
            encode_rows(rows, specs)
            with os_errors(self.directory), self._files.lock():
                self._description = self._files.described(specs)
        return self._description

    def _current_segment(self, description: Description) -> SegmentWriter:
        if self._segment is not None and self._segment.end >= _SEGMENT_BYTES:
            self._segment.sync()
            self._segment.close()
            self._segment = None
        if self._segment is None:
            number = self._num_segments
            path = self._files.segment(self._number, number)
            self._segment = SegmentWriter(path, description.number, self._number, number)
            self._num_segments += 1
        return self._segment

    def close(self) -> None:
        """Closes this writer, and waits until its rows are on disk."""
        if self._process != os.getpid():
            return
        with self._mutex:
            if self._lock.file < 0:
                return
            try:
                if self._segment is not None:
                    self._segment.sync()
                    self._segment.close()
                os.write(self._lock.file, b"closed\n")
            finally:
                self._lock.close()

    @staticmethod
    def delete_before(
        directory: str | os.PathLike[str], state: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> int:
        """Deletes rows that no iteration needs if it resumes from `state` or a later state.

        Call it after you have saved a checkpoint, and when you no longer need any earlier one. With
        several ranks, call it on one rank, with the states of all ranks at the same step: some
        ranks continue from earlier rows than others. Files are deleted as a whole, so the latest
        ones stay. Nothing else ever deletes rows. Afterwards, you can no longer read the journal
        from the beginning.

        Args:
            directory: The directory of the journal.
            state: A state of a pipeline that reads the journal, from `Batches.state`, or a list of
                the states of all ranks.

        Returns:
            The number of bytes that were deleted.

        Raises:
            ValueError: If a state has no position in this journal, or the list is empty.

        Examples:
            >>> with hr.Journal("samples") as journal:
            ...     journal.append([{"x": 1}, {"x": 2}])
            >>> batches = iter(hr.journal("samples").batch(2))
            >>> batch = next(batches)
            >>> hr.Journal.delete_before("samples", batches.state())
            0
        """
        states: Any = state if isinstance(state, (list, tuple)) else [state]
        if not states:
            raise ValueError("delete_before: the list of states is empty, expected at least one.")
        return delete_before(JournalDirectory(directory_of("delete_before", directory)), states)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._lock.file < 0 else "open"
        return f"Journal({self.directory!r}, writer {self._number}: {state})"
