"""The program's side of `iterable`'s iterators in worker processes.

Each worker prepares examples ahead. They are taken from the workers in turn, one at a time, so the
order does not depend on their speed. A worker whose iterator has ended is skipped.
"""

import contextlib
import json
import os
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import numpy as np

from headrace.core.errors import add_note
from headrace.pipeline.functions.iterators import RemoteIteratorBase, Values
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.values.types import Spec
from headrace.pipeline.workers.main_module import Surroundings
from headrace.pipeline.workers.remote import RemoteWorker, WorkerEnded, start_workers
from headrace.pipeline.workers.sending import loads, packed_functions
from headrace.pipeline.workers.served_iterator import (
    CloseRequest,
    ExamplesMessage,
    NextRequest,
    OpenReply,
    OpenRequest,
    SeekRequest,
)
from headrace.pipeline.workers.shared_arrays import Arena, Layout

__all__ = ["IteratorProcesses", "RemoteIterator"]

_T = TypeVar("_T")

# The maximum number of examples that a worker prepares ahead.
_MOST_ROWS: Final = 128
# How often to use another worker if workers end before their first call.
_MOST_RESTARTS: Final = 3
# How many seconds the end of an iteration waits for a call of an iterator.
_PATIENCE_S: Final = 0.15
_LEAST_S: Final = 0.001
# Examples are in the worker's memory, in shared memory, and in this process.
_NUM_COPIES: Final = 3


@dataclass(eq=False)
class _Part:
    """The part of the examples that comes from one worker.

    Attributes:
        number: The number of the worker, from 0.
        open: The message that requests its iterator.
        worker: The worker process.
        rows: The examples received so far, with the state before each one.
        state: The state after these examples.
        count: The number of examples taken; None after a state was restored.
        has_ended: Whether the examples received are the last ones.
        error: The error that ended the iterator.
        is_over: Whether this worker is skipped from now on.
        num_restarts: How often a worker that had ended was replaced.
        num_charged: The number of bytes counted towards an iteration.
    """

    number: int
    open: OpenRequest
    worker: RemoteWorker | None = None
    rows: deque[tuple[Any, str | None]] = field(default_factory=deque)
    state: str | None = None
    count: int | None = 0
    has_ended: bool = False
    error: BaseException | None = None
    is_over: bool = False
    num_restarts: int = 0
    num_charged: int = 0


class RemoteIterator(RemoteIteratorBase):
    """Examples from iterators that a factory creates in worker processes.

    Only one thread at a time may use it, except for `stop` and `close`.

    Attributes:
        hold: Called with the number of bytes whenever more memory is used.
    """

    def __init__(self, where: str, num_processes: int, holder: WorkerHolder) -> None:
        self.hold: Callable[[int], None] = lambda num_bytes: None
        self._where: Final = where
        self._num_processes: Final = num_processes
        self._holder: Final = holder
        self._parts: list[_Part] = []
        self._turn = 0
        self._keeps_state = False
        self._specs: Mapping[str, Spec] | None = None
        self._num_bytes = 1
        # The closing thread also reads and writes these, while it holds the lock.
        self._lock: Final = threading.Lock()
        self._is_closed = False
        self._workers: Final[list[RemoteWorker]] = []
        weakref.finalize(self, _let_go, self._workers, os.getpid())

    def open(self, factory: Callable[..., Any]) -> None:
        """Makes each worker call the factory for its iterator."""
        self._ending_at_error(self._open, factory)

    def _open(self, factory: Callable[..., Any]) -> None:
        data, main = packed_functions(self._where, [factory])
        here = Surroundings.current()
        for number in range(self._num_processes):
            arguments = () if self._num_processes == 1 else (number, self._num_processes)
            self._parts.append(_Part(number, OpenRequest(data, main, self._where, arguments, here)))
        for part in self._parts:
            self._begin(part)
        replies = [self._begun(part) for part in self._parts]
        self._keeps_state = all(opened.keeps_state for opened in replies)

    def expect(self, specs: Mapping[str, Spec], num_bytes: int) -> None:
        """See `RemoteIteratorBase`."""
        self._specs, self._num_bytes = specs, max(num_bytes // self._num_processes, 1)

    def __next__(self) -> Any:
        try:
            return self._next()
        except StopIteration:
            raise
        except BaseException:
            self.close(keeps_workers=False, is_alone=True)
            raise

    def _next(self) -> Any:
        while (part := self._at_turn()) is not None:
            if not part.rows and not part.has_ended:
                self._fill(part)
            if part.rows:
                example, _ = part.rows.popleft()
                if part.count is not None:
                    part.count += 1
                self._turn = (part.number + 1) % self._num_processes
                return example
            if part.has_ended:
                part.is_over = True
                if part.error is not None:
                    raise self._noted(part, part.error)
        raise StopIteration

    def skip(self, number: int) -> None:
        """Skips examples; see `RemoteIteratorBase`. Each worker skips its share."""
        self._ending_at_error(self._skip, number)

    def _skip(self, number: int) -> None:
        while number and any(part.rows for part in self._parts):
            if next(self, None) is None:
                return
            number -= 1
        while parts := [part for part in self._parts if not part.is_over]:
            # Each part skips at least this many examples, even if other iterators end.
            num_turns = number // len(parts)
            if not num_turns:
                break
            for part in parts:
                self._tell(part, SeekRequest(None, num_turns))
            for part in parts:
                opened = self._continued(part)
                part.is_over = opened.num_left_out < num_turns
                number -= opened.num_left_out
        for _ in range(number):
            if next(self, None) is None:
                return

    @property
    def state(self) -> Callable[[], Any]:
        """A method that returns the state. Missing if the iterators have no state."""
        self._check_keeps_state()
        return self._state

    @property
    def restore(self) -> Callable[[Any], None]:
        """A method that restores a state. Missing if the iterators have no state."""
        self._check_keeps_state()
        return self._restore

    def _check_keeps_state(self) -> None:
        if not self._keeps_state:
            raise AttributeError("the iterator keeps no state")

    def _state(self) -> Any:
        states = [part.rows[0][1] if part.rows else part.state for part in self._parts]
        if self._num_processes == 1:
            # The behaviour is the same as without processes.
            return json.loads(states[0] or "null")
        over = [part.is_over for part in self._parts]
        kept = [None if is_over else text for is_over, text in zip(over, states, strict=True)]
        return {"turn": self._turn, "states": kept}

    def _restore(self, state: Any) -> None:
        self._ending_at_error(self._restore_parts, state)

    def _restore_parts(self, state: Any) -> None:
        states = [json.dumps(state)]
        if self._num_processes > 1:
            states, self._turn = state["states"], state["turn"]
        for part, text in zip(self._parts, states, strict=True):
            part.rows.clear()
            part.has_ended, part.error, part.is_over = False, None, text is None
            if text is not None:
                self._tell(part, SeekRequest(text, 0))
        for part in self._parts:
            if not part.is_over:
                part.count = None
                self._continued(part)

    def stop(self) -> None:
        """Makes all workers stop after their current calls."""
        with self._lock:
            for worker in self._workers:
                worker.call_status.stop(True)

    def kill_busy(self) -> None:
        """Kills the workers that a thread is waiting for."""
        with self._lock:
            busy = [worker for worker in self._workers if worker.is_busy]
        for worker in busy:
            worker.kill()

    def _ending_at_error(self, call: Callable[[_T], None], argument: _T) -> None:
        try:
            call(argument)
        except BaseException:
            self.close(keeps_workers=False, is_alone=True)
            raise

    def close(self, keeps_workers: bool, is_alone: bool = False) -> None:
        """Ends the workers, or keeps them for another iterator.

        Args:
            keeps_workers: Whether to keep the workers.
            is_alone: Whether no other thread can be waiting for a worker.
        """
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
            self._workers.clear()
            idle = [worker for worker in workers if not worker.is_busy]
        for worker in workers:
            if worker not in idle:
                worker.kill()
                if is_alone:
                    worker.close()
                # Otherwise, the thread that is waiting for it frees the shared memory.
        for worker in _that_let_go(idle):
            if keeps_workers:
                self._holder.put(worker)
            else:
                worker.end()

    def _begin(self, part: _Part) -> None:
        """Requests an iterator from a worker."""
        while True:
            worker = cast("RemoteWorker | None", self._holder.take())
            if worker is None:
                [worker] = start_workers(1)
            with self._lock:
                if not self._is_closed:
                    self._workers.append(worker)
                    part.worker = worker
            if part.worker is not worker:
                worker.end()
                raise RuntimeError("the iteration is over")
            worker.call_status.stop(False)
            worker.call_status.forget_calls()
            try:
                return self._tell(part, part.open)
            except WorkerEnded as end:
                # The worker ended while it was idle.
                part.num_restarts += 1
                if part.num_restarts > _MOST_RESTARTS:
                    raise self._death(part, end) from None

    def _begun(self, part: _Part) -> OpenReply:
        while True:
            try:
                return self._continued(part, is_first=True)
            except WorkerEnded:
                self._begin(part)

    def _continued(self, part: _Part, is_first: bool = False) -> OpenReply:
        """Returns the reply to `OpenRequest` or `SeekRequest`."""
        opened = cast("OpenReply", self._answer(part, is_first))
        if opened.error is not None:
            raise self._noted(part, opened.error.unpacked())
        part.state = opened.state
        if part.count is not None:
            part.count += opened.num_left_out
        return opened

    def _at_turn(self) -> _Part | None:
        order = (*self._parts[self._turn :], *self._parts[: self._turn])
        return next((part for part in order if not part.is_over), None)

    def _fill(self, part: _Part) -> None:
        """Requests examples from a worker, until there are some or its iterator has ended."""
        num_rows = 1 if self._specs is None else _MOST_ROWS
        specs = None if self._specs is None else dict(self._specs)
        self._tell(part, NextRequest(specs, num_rows, self._num_bytes))
        message = cast("ExamplesMessage", self._answer(part))
        assert part.worker is not None
        if specs is None:
            examples: Sequence[Any] = [loads(example) for example in message.examples]
        else:
            arena = part.worker.output_arena(message.size)
            examples = _values(arena, message.columns, len(message.states))
        part.rows.extend(zip(examples, message.states, strict=False))
        part.state, part.has_ended = message.state, message.is_over
        part.error = None if message.error is None else message.error.unpacked()
        num_bytes = _NUM_COPIES * part.worker.num_bytes
        if num_bytes > part.num_charged:
            self.hold(num_bytes - part.num_charged)
            part.num_charged = num_bytes

    def _tell(self, part: _Part, message: object) -> None:
        worker = part.worker
        assert worker is not None
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the iteration is over")
            try:
                functions = (
                    message.functions.descriptors if isinstance(message, OpenRequest) else ()
                )
                worker.tell(message, functions)
            except WorkerEnded as end:
                self._workers.remove(worker)
                if not isinstance(message, OpenRequest):
                    raise self._death(part, end) from None
                raise

    def _answer(self, part: _Part, is_first: bool = False) -> object:
        worker = part.worker
        assert worker is not None
        try:
            return worker.answer()
        except WorkerEnded as end:
            with self._lock:
                if worker in self._workers:
                    self._workers.remove(worker)
                is_closed = self._is_closed
            part.num_restarts += 1
            may_restart = is_first and end.call is None and part.num_restarts <= _MOST_RESTARTS
            if may_restart and not is_closed:
                raise
            raise self._death(part, end) from None

    def _death(self, part: _Part, end: WorkerEnded) -> BaseException:
        """Returns the error for a worker that has ended."""
        at = "between two items"
        if end.call is not None:
            since = ", counted from 0" if part.count is not None else " since the resume"
            at = f"at item {end.call[0]}{since}"
            if part.count is not None and part.count < end.call[0]:
                at += f"; the items from {part.count} on were lost"
        whose = f", number {part.number} of {self._num_processes}," * (self._num_processes > 1)
        return RuntimeError(
            f"{self._where}: worker process {end.worker}{whose} {end.how} {at}. {_remedy(end.code)}"
        )

    def _noted(self, part: _Part, error: BaseException) -> BaseException:
        if self._num_processes > 1:
            item = "" if part.count is None else f", at its item {part.count}"
            add_note(error, f"by worker {part.number} of {self._num_processes}{item}")
        return error


class IteratorProcesses:
    """Ends the worker processes of one iteration's iterators.

    Attributes:
        hold: See `Processes`.
        keeps_workers: Whether to keep workers for the next iteration.
    """

    def __init__(self, is_looking: bool) -> None:
        self.keeps_workers = False
        self.hold: Callable[[int], None] = lambda num_bytes: None
        # Whether the examples are kept for a later iteration.
        self._is_looking: Final = is_looking
        self._lock: Final = threading.Lock()
        self._iterator: RemoteIterator | None = None
        self._is_over = False

    def begin(self, iterator: RemoteIterator) -> None:
        """Sets the iterator of a pass. It may use the workers of the previous pass."""
        with self._lock:
            before, self._iterator = self._iterator, iterator
            is_over = self._is_over
        if before is not None and before is not iterator and not self._is_looking:
            before.close(keeps_workers=True)
        if is_over and not self._is_looking:
            iterator.close(keeps_workers=False)
        iterator.hold = self.hold

    def release(self) -> None:
        """Makes the workers of the last pass available to the next one."""
        with self._lock:
            before, self._iterator = self._iterator, None
        if before is not None and not self._is_looking:
            before.close(keeps_workers=True)

    def stop(self) -> None:
        """Makes all workers stop after their current calls."""
        with self._lock:
            self._is_over = True
            iterator = self._iterator
        if iterator is not None and not self._is_looking:
            iterator.stop()

    def end(self) -> None:
        """Ends the workers, or keeps them for the next iteration."""
        with self._lock:
            iterator, self._iterator = self._iterator, None
        if iterator is None:
            return
        if self._is_looking:
            iterator.kill_busy()
        else:
            iterator.close(self.keeps_workers)


def _that_let_go(workers: Sequence[RemoteWorker]) -> Iterator[RemoteWorker]:
    """Makes idle workers close their iterators, and yields the workers that are still running."""
    asked = []
    for worker in workers:
        with contextlib.suppress(WorkerEnded):
            worker.tell(CloseRequest())
            asked.append(worker)
    deadline = time.monotonic() + _PATIENCE_S
    for worker in asked:
        try:
            worker.answer(max(deadline - time.monotonic(), _LEAST_S))
        except TimeoutError:
            # A call takes too long.
            worker.kill()
            worker.close()
        except WorkerEnded:
            continue
        else:
            yield worker


def _values(arena: Arena, locations: Sequence[tuple[Any, ...]], num_rows: int) -> list[Values]:
    """Returns examples with copies of the values that a worker wrote into an arena."""
    columns = [_copied(Layout.read_from(arena, location)) for location in locations]
    return [
        Values(column[row, ...] if _is_numeric(column) else column[row] for column in columns)
        for row in range(num_rows)
    ]


def _copied(column: Any) -> Any:
    if isinstance(column, list):
        return [_copied(value) for value in column]
    # Strings are copies already.
    return column.copy() if _is_numeric(column) else column


def _is_numeric(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype != object


def _remedy(code: int | None) -> str:
    if code is not None and code >= 0:
        return "The iterator, or a library it uses, called os._exit. Raise an exception instead."
    if code == -signal.SIGKILL:
        return (
            "The system kills processes when it runs out of memory. Look for 'Out of memory' in "
            "the system log, and use fewer num_processes."
        )
    return (
        "A native library crashed in the iterator. Look for the place in the standard error, or "
        "iterate without num_processes."
    )


def _let_go(workers: list[RemoteWorker], process: int) -> None:
    """Ends a dropped iterator's workers. The garbage collector may call this at any time."""
    while workers:
        worker = workers.pop()
        if process == os.getpid():
            worker.let_go()
