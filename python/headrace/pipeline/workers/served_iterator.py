"""An `iterable`'s iterator in a worker process, and the messages about it.

One thread calls the iterator, because it may be slow. The connection's thread sends the examples
that are ready.
"""

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.pipeline.functions.function_state import keeps_state, kept, restore
from headrace.pipeline.functions.iterators import AlreadyOpened
from headrace.pipeline.values.column_conversion import as_values, check_components
from headrace.pipeline.values.python_values import as_value
from headrace.pipeline.values.types import Specs
from headrace.pipeline.workers.call_status import SharedCallStatus
from headrace.pipeline.workers.main_module import MainModule, Surroundings
from headrace.pipeline.workers.sending import PackedError, PackedFunctions
from headrace.pipeline.workers.shared_arrays import Arena, Layout

__all__ = [
    "CloseRequest",
    "ExamplesMessage",
    "NextRequest",
    "OpenReply",
    "OpenRequest",
    "SeekRequest",
    "ServedIterator",
]

# How many seconds a reply waits for more examples once it has one.
_PATIENCE_S: Final = 0.002
# How often, in seconds, a thread checks for the end while it waits for an example.
_LOOK_S: Final = 0.2
_END: Final = object()


@dataclass(frozen=True)
class OpenRequest:
    """Requests an iterator from a factory. It replaces the previous iterator.

    Attributes:
        functions: The factory.
        main: The program's main module, if the factory is defined in it.
        where: The source, for messages.
        arguments: The arguments to call the factory with.
        surroundings: The program's directory and environment.
    """

    functions: PackedFunctions
    main: MainModule | None
    where: str
    arguments: tuple[int, ...]
    surroundings: Surroundings

    def serve(
        self,
        call_status: SharedCallStatus,
        output_arena: Arena,
        load: Callable[["OpenRequest"], tuple[Any, ...]],
    ) -> "ServedIterator":
        """Returns the object that answers this message and all later ones."""
        return ServedIterator(call_status, output_arena, load)


@dataclass(frozen=True)
class SeekRequest:
    """Restores a state of the iterator (if there is one), and then skips examples."""

    state: str | None
    num_left_out: int


@dataclass(frozen=True)
class OpenReply:
    """The reply to `OpenRequest` and `SeekRequest`.

    Attributes:
        keeps_state: Whether the iterator has a state.
        state: The state before the next example.
        num_left_out: The number of skipped examples. At the end, it is smaller than requested.
        error: The error that was raised.
    """

    keeps_state: bool = False
    state: str | None = None
    num_left_out: int = 0
    error: PackedError | None = None


@dataclass(frozen=True)
class NextRequest:
    """Requests the next examples: at least one, unless the iterator has ended.

    Attributes:
        specs: The components, or None if they are unknown. Examples are then pickled, and none are
            prepared ahead.
        num_rows: The maximum number of examples to prepare ahead.
        num_bytes: How many bytes of examples to prepare ahead.
    """

    specs: Specs | None
    num_rows: int
    num_bytes: int


@dataclass(frozen=True)
class ExamplesMessage:
    """The next examples. If their components are known, they are in the arena.

    Attributes:
        examples: The pickled examples, if the components are unknown.
        columns: The locations of the components in the arena.
        size: The number of bytes used in the arena.
        states: The iterator's state before each example.
        state: The state after the last example.
        is_over: Whether these are the last examples.
        error: The error that ended the iterator after these examples.
    """

    examples: tuple[bytes, ...] = ()
    columns: tuple[Any, ...] = ()
    size: int = 0
    states: tuple[str | None, ...] = ()
    state: str | None = None
    is_over: bool = False
    error: PackedError | None = None


@dataclass(frozen=True)
class CloseRequest:
    """Drops the iterator. The reply is sent once none of its calls is running."""


Message: TypeAlias = "OpenRequest | SeekRequest | NextRequest | CloseRequest"


@dataclass
class _OpenIterator:
    """The current iterator. Only the thread that calls the iterator changes this object.

    Attributes:
        where: The source, for messages.
        iterator: The iterator.
        state: The state before the next example.
        number: The number of the next example.
        is_over: Whether the iterator has ended or failed.
        error: The error with which it failed.
    """

    where: str
    iterator: Iterator[Any]
    state: str | None
    number: int = 0
    is_over: bool = False
    error: BaseException | None = None


@dataclass
class _Task:
    """A call for the thread that calls the iterator, and its result."""

    call: Callable[[], OpenReply | None]
    result: list[OpenReply | None] = field(default_factory=list)


class ServedIterator:
    """The iterator whose examples a worker process sends.

    Args:
        call_status: The shared page on which calls are recorded.
        output_arena: The arena for examples.
        load: Returns a tuple that contains the factory.
    """

    def __init__(
        self,
        call_status: SharedCallStatus,
        output_arena: Arena,
        load: Callable[[OpenRequest], tuple[Any, ...]],
    ) -> None:
        self._call_status: Final = call_status
        self._output_arena: Final = output_arena
        self._load: Final = load
        self._before: Final = AlreadyOpened()
        self._changed: Final = threading.Condition()
        self._thread: threading.Thread | None = None
        self._opened: _OpenIterator | None = None
        # Both threads read and write these while they hold the lock: the next call, the requested
        # examples, and the examples that are ready, each with the state before it and its size.
        self._task: _Task | None = None
        self._request: NextRequest | None = None
        self._rows: deque[tuple[Any, str | None, int]] = deque()
        self._num_bytes = 0

    def answered(
        self, message: Message, descriptors: Sequence[int] = ()
    ) -> "OpenReply | ExamplesMessage | None":
        """Handles a message, and returns the reply."""
        match message:
            case OpenRequest():
                functions = message.functions.received(descriptors)
                opening = replace(message, functions=functions)
                return self._done(lambda: self._open(opening))
            case SeekRequest():
                return self._done(lambda: self._go_on(message))
            case CloseRequest():
                return self._done(self._close, waits_for_all=True)
        return self._more(message)

    def _done(
        self, call: Callable[[], OpenReply | None], waits_for_all: bool = False
    ) -> OpenReply | None:
        """Runs a call on the other thread, and returns its result, or an empty one after a stop."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="iterator", daemon=True)
            self._thread.start()
        task = _Task(call)
        with self._changed:
            self._task, self._request = task, None
            self._changed.notify_all()
            while not self._changed.wait_for(lambda: bool(task.result), _LOOK_S):
                if self._call_status.must_stop() and not waits_for_all:
                    return OpenReply()
        return task.result[0]

    def _more(self, request: NextRequest) -> ExamplesMessage:
        with self._changed:
            self._request = request
            self._changed.notify_all()
            while not self._changed.wait_for(self._has_some, _LOOK_S):
                if self._call_status.must_stop():
                    return ExamplesMessage(is_over=True)
            if request.num_rows > 1:
                self._changed.wait_for(lambda: not self._wants_more(), _PATIENCE_S)
            rows, self._rows, self._num_bytes = self._rows, deque(), 0
            opened = self._opened
            assert opened is not None
            is_over, state, error = opened.is_over, opened.state, opened.error
            if request.specs is None:
                self._request = None
            self._changed.notify_all()
        packed = None if error is None else PackedError.of(error)
        states = tuple(before for _, before, _ in rows)
        if request.specs is None:
            examples = tuple(example for example, _, _ in rows)
            return ExamplesMessage(examples, (), 0, states, state, is_over, packed)
        layout = Layout()
        try:
            values = zip(*(row for row, _, _ in rows), strict=True)
            columns = tuple(layout.add(list(column)) for column in values)
            layout.write(self._output_arena)
        except Exception as raised:
            return ExamplesMessage(is_over=True, error=PackedError.of(raised))
        return ExamplesMessage((), columns, self._output_arena.size, states, state, is_over, packed)

    def _has_some(self) -> bool:
        return bool(self._rows) or self._has_ended()

    def _has_ended(self) -> bool:
        return self._opened is None or self._opened.is_over

    def _wants_more(self) -> bool:
        request = self._request
        return (
            request is not None
            and not self._has_ended()
            and len(self._rows) < request.num_rows
            and self._num_bytes < request.num_bytes
        )

    def _serve(self) -> None:
        """Makes all calls to the user's code, until the process ends."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._task is not None or self._wants_more())
                task, self._task = self._task, None
                request = self._request
            if task is None:
                assert request is not None
                self._ask(request)
                continue
            result = task.call()
            with self._changed:
                task.result.append(result)
                self._changed.notify_all()

    def _open(self, message: OpenRequest) -> OpenReply:
        self._close()
        try:
            self._call_status.begin_call(0, 0)
            [factory] = self._load(message)
            result = factory(*message.arguments)
            iterator = self._before.checked(message.where, result)
            opened = _OpenIterator(message.where, iterator, kept(iterator))
        except BaseException as error:
            return OpenReply(error=PackedError.of(error))
        finally:
            self._call_status.forget_calls()
        self._opened = opened
        return OpenReply(keeps_state(iterator), opened.state)

    def _go_on(self, message: SeekRequest) -> OpenReply:
        opened = self._opened
        assert opened is not None
        count = 0
        try:
            if message.state is not None:
                with self._changed:
                    self._rows, self._num_bytes = deque(), 0
                restore(opened.iterator, message.state)
                opened.number, opened.is_over, opened.error = 0, False, None
            while count < message.num_left_out and not opened.is_over:
                self._call_status.begin_call(opened.number, 0)
                if next(opened.iterator, _END) is _END:
                    opened.is_over = True
                else:
                    opened.number += 1
                    count += 1
            opened.state = kept(opened.iterator)
        except BaseException as error:
            opened.is_over = True
            return OpenReply(num_left_out=count, error=PackedError.of(error))
        finally:
            self._call_status.forget_calls()
        return OpenReply(keeps_state(opened.iterator), opened.state, count)

    def _close(self) -> None:
        with self._changed:
            self._opened = None
            self._rows, self._num_bytes = deque(), 0

    def _ask(self, request: NextRequest) -> None:
        """Calls the iterator for one example."""
        opened = self._opened
        assert opened is not None
        row = None
        try:
            if self._call_status.begin_call(opened.number, 0):
                with self._changed:
                    self._request = None
                return
            before = opened.state
            example = next(opened.iterator, _END)
            if example is _END:
                opened.is_over = True
            else:
                row = _packed(opened.where, example, request.specs), before
                opened.state = kept(opened.iterator)
        except BaseException as error:
            opened.error, opened.is_over = error, True
        finally:
            self._call_status.forget_calls()
        with self._changed:
            if row is not None:
                opened.number += 1
                num_bytes = _num_bytes(row[0])
                self._rows.append((*row, num_bytes))
                self._num_bytes += num_bytes
            self._changed.notify_all()


def _packed(where: str, example: Any, specs: Specs | None) -> Any:
    """Returns a copy of an example: its components, or a pickle if they are unknown."""
    if specs is not None:
        return as_values(where, example, specs)
    values = {
        name: _plain(where, name, value) for name, value in check_components(where, example).items()
    }
    return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)


def _plain(where: str, name: str, value: Any) -> Any:
    """Returns a value that the program can load. Other libraries' objects become arrays."""
    plain = (str, bytes, bool, int, float, complex, np.ndarray, np.generic, list, tuple)
    return value if isinstance(value, plain) else as_value(where, name, value)


def _num_bytes(packed: Any) -> int:
    """Returns the size of a packed example in bytes."""
    if isinstance(packed, bytes):
        return len(packed)
    return sum(len(v) if isinstance(v, bytes) else _size(v) for v in packed)


def _size(array: Any) -> int:
    strings = sum(map(len, array.ravel())) if array.dtype == object else 0
    return int(array.nbytes) + strings
