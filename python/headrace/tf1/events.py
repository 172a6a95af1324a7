"""Event files, which programs write while they run and TensorBoard displays.

An event file is a TFRecord file of `Event` messages. The first message contains the format version.
TensorBoard reads all files in a directory whose names contain "tfevents", in the order of their
names, and keeps reading as they grow.

Source: `tf.summary.FileWriter` and `tf.train.summary_iterator` in TensorFlow 1.15. TensorFlow
writes from a separate thread. Here, the caller writes, because an event takes only microseconds.
"""

import itertools
import os
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from os import PathLike, fspath
from types import TracebackType
from typing import ClassVar, Final, NoReturn, SupportsInt

from headrace.core import engine
from headrace.core.errors import AlreadyExistsError, DataLossError
from headrace.graph import Graph, get_default_graph
from headrace.io.records import tf_record_iterator
from headrace.protos import GraphDef, NodeDef
from headrace.protos.library import DecodeError
from headrace.tf1 import gfile
from headrace.tf1.protos import Event, RunMetadata, SessionLog, Summary, TaggedRunMetadata

__all__ = ["FileWriter", "FileWriterCache", "summary_iterator"]

_FILE_VERSION: Final = "brain.Event:2"


class FileWriter:
    """Writes summaries and graphs to a new event file. You can use it from many threads.

    Other programs can read events once they are flushed. Events are flushed by `flush` and `close`,
    when an event is added at least `flush_secs` after the last flush, and when the program ends.

    After a failed write (for example, because the disk is full), all later writes fail in the same
    way until you close and reopen the writer.

    Args:
        logdir: The directory of the file, which is created if it does not exist.
        graph: A graph to write.
        max_queue: Accepted for compatibility, but not used, because events are written immediately.
        flush_secs: The maximum time before events are flushed, if events are added continually.
        graph_def: A graph to write, as a `GraphDef`.
        filename_suffix: The suffix of the file name.
        session: Accepted for compatibility, but not used.

    Raises:
        FailedPreconditionError: If `logdir` is a file.
        PermissionDeniedError: If the directory or file cannot be created.
        TypeError: If `graph` is not a graph.
    """

    def __init__(
        self,
        logdir: str | PathLike[str],
        graph: Graph | GraphDef | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: GraphDef | None = None,
        filename_suffix: str | None = None,
        session: object = None,
    ) -> None:
        self._logdir = fspath(logdir)
        self._suffix = filename_suffix or ""
        self._flush_secs = min(flush_secs, sys.maxsize)
        self._lock = threading.Lock()
        # Guarded by the lock. None while the writer is closed.
        self._file: _EventFile | None = None
        # The tags whose metadata has been written. Guarded by the lock.
        self._run_tags: set[str] = set()
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """Returns the directory of the file."""
        return self._logdir

    def add_summary(self, summary: Summary | bytes, global_step: int | None = None) -> None:
        """Adds a summary.

        Args:
            summary: A `Summary`, or its bytes, such as the result of running `tf.summary.scalar`.
            global_step: The training step of the event.

        Raises:
            google.protobuf.message.DecodeError: If the bytes are not a summary.
            TypeError: If `summary` has any other type.
        """
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        if not isinstance(summary, Summary):
            raise TypeError(
                f"summary has type {type(summary).__name__}, expected Summary or bytes."
            )
        self._add(Event(summary=summary), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: int | None = None) -> None:
        """Adds a session event. For example, a start invalidates events of later steps.

        Args:
            session_log: The event.
            global_step: The training step of the event.
        """
        self._add(Event(session_log=session_log), global_step)

    def add_run_metadata(
        self, run_metadata: RunMetadata, tag: str, global_step: int | None = None
    ) -> None:
        """Adds the metadata of a run, which TensorBoard displays next to the graph.

        Args:
            run_metadata: The metadata from `Session.run`.
            tag: The name, which must be different each time.
            global_step: The training step of the event.

        Raises:
            ValueError: If the tag was used before.
        """
        with self._lock:
            if tag in self._run_tags:
                raise ValueError("The provided tag was already used for this event type")
            self._run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(Event(tagged_run_metadata=tagged), global_step)

    def add_graph(
        self,
        graph: Graph | GraphDef | None,
        global_step: int | None = None,
        graph_def: GraphDef | None = None,
    ) -> None:
        """Adds a graph: the names, types and inputs of its operations, without attributes.

        Args:
            graph: A `Graph`, or a description of it.
            global_step: The training step of the event.
            graph_def: The description, if `graph` is None.

        Raises:
            TypeError: If the argument is not a graph.
            ValueError: If both are given.
        """
        if graph is not None and graph_def is not None:
            raise ValueError(
                "Please pass only graph, or graph_def (deprecated), but not both: got "
                f"{graph!r} and {graph_def!r}."
            )
        description = graph_def if graph is None else graph
        if isinstance(description, Graph):
            description = description.as_graph_def()
        if not isinstance(description, GraphDef):
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, got "
                f"{type(description).__name__}."
            )
        nodes = [NodeDef(name=node.name, op=node.op, input=node.input) for node in description.node]
        serialized = GraphDef(node=nodes).SerializeToString()
        self._add(Event(graph_def=serialized), global_step)

    def add_event(self, event: Event) -> None:
        """Adds an event. If the writer is closed, this only logs a warning."""
        with self._lock:
            if self._file is not None:
                self._file.write(event)
                return
        warnings.warn(
            "Attempting to use a closed FileWriter. The operation will be a noop unless the "
            "FileWriter is explicitly reopened.",
            stacklevel=3,
        )

    def flush(self) -> None:
        """Writes all events so far to the file, where readers can see them."""
        with self._lock:
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Completes the file. A second call does nothing.

        Raises:
            ResourceExhaustedError: If the disk is full, or was full when an earlier event was
                written. `reopen` then starts a new file.
        """
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def reopen(self) -> None:
        """Starts a new file in the same directory, if the writer is closed."""
        with self._lock:
            if self._file is None:
                self._file = _EventFile(self._logdir, self._suffix, self._flush_secs)

    def _add(self, event: Event, global_step: int | None) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = _as_step(global_step)
        self.add_event(event)

    def __enter__(self) -> "FileWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class FileWriterCache:
    """A cache with one writer for each directory.

    Source: `tf.summary.FileWriterCache` in TensorFlow 1.15.
    """

    _lock = threading.Lock()
    # Guarded by the lock.
    _cache: ClassVar[dict[str, FileWriter]] = {}

    @staticmethod
    def get(logdir: str | PathLike[str]) -> FileWriter:
        """Returns the writer of a directory. The first call creates it.

        Args:
            logdir: The directory.
        """
        key = fspath(logdir)
        with FileWriterCache._lock:
            if key not in FileWriterCache._cache:
                FileWriterCache._cache[key] = FileWriter(key, graph=get_default_graph())
            return FileWriterCache._cache[key]

    @staticmethod
    def clear() -> None:
        """Flushes and removes all writers."""
        with FileWriterCache._lock:
            writers = list(FileWriterCache._cache.values())
            FileWriterCache._cache.clear()
        for writer in writers:
            writer.flush()


class _EventFile:
    """One event file. Only one thread at a time may write to it."""

    def __init__(self, logdir: str, suffix: str, flush_secs: float) -> None:
        gfile.MakeDirs(logdir)
        self._writer = _create(logdir, suffix)
        # Writes the remaining bytes even if the program ends or drops the file without closing it.
        self._finalizer = weakref.finalize(self, _close_at_end, self._writer, os.getpid())
        self._flush_secs = flush_secs
        self._next_flush = 0.0
        self.write(Event(wall_time=time.time(), file_version=_FILE_VERSION))

    def write(self, event: Event) -> None:
        try:
            self._writer.write(event.SerializeToString())
        except engine.EngineError as error:
            self._fail(error)
        if time.monotonic() >= self._next_flush:
            self.flush()

    def close(self) -> None:
        self._finalizer.detach()
        _close(self._writer)

    def flush(self) -> None:
        try:
            self._writer.flush()
        except engine.EngineError as error:
            self._fail(error)
        self._next_flush = time.monotonic() + self._flush_secs

    def _fail(self, error: engine.EngineError) -> NoReturn:
        # The file accepts no more data, so the error need not be reported again at exit.
        self._finalizer.detach()
        engine.raise_op_error(error)


def _as_step(global_step: SupportsInt) -> int:
    try:
        return int(global_step)
    except OverflowError:
        raise ValueError(f"global_step: got {global_step}, expected an integer.") from None


def _close_at_end(writer: engine.RecordWriter, process: int) -> None:
    # This also runs at the end of a forked child process, but the file belongs to its parent.
    if process == os.getpid():
        _close(writer)


def _close(writer: engine.RecordWriter) -> None:
    try:
        writer.close()
    except engine.EngineError as error:
        engine.raise_op_error(error)


def _create(logdir: str, suffix: str) -> engine.RecordWriter:
    """Creates an event file named after the current second, or a later one if it exists."""
    host = socket.gethostname()
    for second in itertools.count(int(time.time())):
        path = os.path.join(logdir, f"events.out.tfevents.{second:010d}.{host}{suffix}")
        try:
            return engine.RecordWriter.create_new(os.fsencode(path))
        except engine.EngineError as error:
            try:
                engine.raise_op_error(error)
            except AlreadyExistsError:
                continue
    raise AssertionError


def summary_iterator(path: str | PathLike[str]) -> Iterator[Event]:
    """Yields the events of an event file.

    Args:
        path: The file to read. It is opened when the first event is read.

    Raises:
        DataLossError: If the file is damaged, or a record is not an event. The message contains the
            position.
        NotFoundError: If the file does not exist.
    """
    for number, record in enumerate(tf_record_iterator(path)):
        try:
            event = Event.FromString(record)
        except DecodeError as error:
            raise DataLossError(
                None,
                None,
                f"{fspath(path)}: record {number} is not an event ({error}). This is not an "
                "event file, or another program wrote to it. Remove it.",
            ) from None
        yield event
