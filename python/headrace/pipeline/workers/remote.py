"""The parent's side of worker processes, and the group of workers that an iteration uses."""

import contextlib
import itertools
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.workers.call_status import SharedCallStatus
from headrace.pipeline.workers.fork_server import fork_server
from headrace.pipeline.workers.messages import channels
from headrace.pipeline.workers.sending import PackedError
from headrace.pipeline.workers.shared_arrays import Arena, Layout
from headrace.pipeline.workers.worker import ResultMessage, RowsMessage, StagesMessage

__all__ = [
    "NUM_PLACES",
    "Place",
    "Processes",
    "RemoteWorker",
    "WorkerEnded",
    "memory_file",
    "start_workers",
]

NUM_PLACES: Final = 2
"""The number of blocks that a worker has at once: it works on one while the next one waits."""

_STATUS_S: Final = 2.0
_END_S: Final = 1.0
# How often to start workers again if they end before they are needed.
_MOST_STARTS: Final = 3


class WorkerEnded(Exception):
    """Raised if a worker process ends while it is needed.

    Attributes:
        worker: The process ID of the worker.
        code: The exit code, or the negative signal number, or None if it is unknown.
        call: The row and step of the worker's current call for the block, or None if there was
            none.
        was_calling: Whether a call was running, for this block or another one.
    """

    def __init__(
        self,
        worker: int,
        code: int | None,
        call: tuple[int, int] | None,
        was_calling: bool = False,
    ) -> None:
        super().__init__(worker, code, call, was_calling)
        self.worker = worker
        self.code = code
        self.call = call
        self.was_calling = was_calling

    @property
    def how(self) -> str:
        """Describes how the process ended."""
        if self.code is None:
            return "has ended"
        if self.code >= 0:
            return f"exited with code {self.code}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = "a signal"
        return f"was killed by {name} (signal {-self.code})"


def memory_file() -> int:
    """Returns the descriptor of a new unnamed file, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        try:
            return os.memfd_create("headrace")
        except OSError:
            pass  # A sandbox may not allow it.
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Place:
    """The memory that a block shares with a worker. Belongs to one thread at a time.

    Attributes:
        worker: The worker.
        number: The number of the place, from 0.
        input_arena: The arena for rows.
        output_arena: The arena for results.
        is_renewed: Whether a function has kept arrays from the input. These must not change.
        sent: The number of the block that was sent, and two locks: one is free once the previous
            block has been answered, the other once this block has.
    """

    sent: tuple[int, threading.Lock, threading.Lock]

    def __init__(self, worker: "RemoteWorker", number: int) -> None:
        self.worker: Final = worker
        self.number: Final = number
        self.input_arena, self.output_arena = Arena(memory_file()), Arena(memory_file())
        self.is_renewed = False

    @property
    def num_bytes(self) -> int:
        """The number of bytes of shared memory."""
        return self.input_arena.size + self.output_arena.size

    def write(self, layout: Layout) -> None:
        """Writes rows into the memory.

        Raises:
            MemoryError: If there is no memory for them.
        """
        if self.is_renewed:
            self.input_arena.close()
            self.input_arena = Arena(memory_file())
        layout.write(self.input_arena)

    def close(self) -> None:
        """Frees the memory."""
        for arena in (self.input_arena, self.output_arena):
            with contextlib.suppress(OSError):
                arena.close()


class RemoteWorker:
    """One worker process. Each thread that calls `begin`, `send` and `result` needs its own place.

    Attributes:
        process: The number of the process.
        call_status: The shared status with the process's current call.
        plan: The number of the last plan sent to the worker.
        has_closed: Whether the memory of free places was freed, because the process has ended.
    """

    def __init__(self) -> None:
        """Creates the shared memory. `start_workers` then starts the process."""
        self._channel, self._end = channels()
        self._call_status = memory_file()
        self._places: Final = [Place(self, number) for number in range(NUM_PLACES)]
        self._free: Final = list(self._places)
        self._owner: Final = os.getpid()
        self._offered: int | None = None
        self.plan: int | None = None
        # Held while a place is taken or returned, while functions are loaded in the process,
        # while a block is sent, and while the exit code is read.
        self._lock: Final = threading.Lock()
        self._loading: Final = threading.Lock()
        self._sending: Final = threading.Lock()
        self._ending: Final = threading.Lock()
        # Free once the last block has been answered, or the worker has ended.
        self._last_answer = threading.Lock()
        self._blocks: Final = itertools.count(1)
        self._num_told = self._num_answers = 0
        self.has_closed = False
        self._codes: list[int | None] = []

    @property
    def descriptors(self) -> list[int]:
        """The file descriptors that are passed to the process."""
        arenas = [arena for each in self._places for arena in (each.input_arena, each.output_arena)]
        return [self._end.fileno(), self._call_status, *(arena.descriptor for arena in arenas)]

    def begun(self, process: int) -> None:
        """Records the ID of the process once it has started."""
        self._end.close()
        self.process = process
        self.call_status = SharedCallStatus(self._call_status)

    def discard(self) -> None:
        """Frees the shared memory, because the process could not be started."""
        self._end.close()
        os.close(self._call_status)
        self._close()

    @property
    def is_busy(self) -> bool:
        """Whether a message has not been answered yet."""
        return self._num_told != self._num_answers

    @property
    def num_free(self) -> int:
        """The number of places that no thread uses."""
        return len(self._free)

    @property
    def num_bytes(self) -> int:
        """The number of bytes of shared memory."""
        return sum(place.num_bytes for place in self._places)

    def take_place(self) -> Place:
        """Returns a free place. Pass it to `leave` when you no longer need it.

        Raises:
            WorkerEnded: If the process has ended, and another thread has noticed that.
        """
        with self._lock:
            if self.has_closed:  # Its free places have no memory any more.
                raise WorkerEnded(self.process, None, None, was_calling=True)
            return self._free.pop(0)

    def leave(self, place: Place) -> None:
        """Gives a place back."""
        with self._lock:
            self._free.insert(0, place)
            if self.has_closed:
                place.close()
                if len(self._free) == NUM_PLACES:
                    self._channel.close()

    def offer(self, plan: StagesMessage) -> None:
        """Sends functions to load, without waiting. `begin` waits for the reply.

        Raises:
            WorkerEnded: If the process has ended.
        """
        if self._offered is None:
            self.call_status.forget_calls()
            self.tell(plan, plan.functions.descriptors)
            self._offered = plan.number

    def begin(self, plan: StagesMessage) -> PackedError | None:
        """Sends new functions. If the process can't unpickle them, returns the error.

        Raises:
            WorkerEnded: If the process has ended.
        """
        with self._loading:
            while self.plan != plan.number:
                self.offer(plan)
                number, answer = self._offered, self.answer()
                self._offered = None
                if number == plan.number:
                    if answer is not None:
                        return cast("PackedError", answer)
                    self.plan = number
        return None

    def send(self, place: Place, block: RowsMessage) -> int:
        """Sends rows that were written into a place. `result` waits for the reply.

        Returns:
            The number of the block, under which its calls are recorded.

        Raises:
            WorkerEnded: If the process has ended.
        """
        with self._sending:
            number, arena, is_renewed = next(self._blocks), place.input_arena, place.is_renewed
            message = replace(
                block, number=number, place=place.number, size=arena.size, is_renewed=is_renewed
            )
            self.tell(message, [arena.descriptor] if is_renewed else [], number)
            answered = threading.Lock()
            answered.acquire()
            place.sent, self._last_answer = (number, self._last_answer, answered), answered
        return number

    def result(self, place: Place) -> ResultMessage:
        """Waits for the result of the rows that were sent. It refers to the place's memory.

        Raises:
            WorkerEnded: If the process has ended.
        """
        number, answered_before, answered = place.sent
        try:
            with answered_before:  # A worker replies to blocks in their order.
                message = cast("ResultMessage", self.answer(block=number))
        finally:
            answered.release()
        place.is_renewed = message.keeps_arrays
        place.output_arena.map(message.size)
        return message

    def end(self) -> None:
        """Ends the process, and waits until it has ended."""
        if self._owner != os.getpid():
            return
        server = fork_server()
        if self.is_busy:
            server.end_worker(self.process)
        self._close()
        if server.exit_code(self.process, _END_S) is None:
            server.end_worker(self.process)
            server.exit_code(self.process, _END_S)

    def let_go(self) -> None:
        """Makes the process end by closing the connection, without waiting."""
        if self._owner == os.getpid():
            self.call_status.stop(True)
            self._close()

    def kill(self) -> None:
        """Kills the process. A thread that is waiting for its reply then closes this object."""
        fork_server().end_worker(self.process)

    def abandon(self) -> None:
        """Kills the process. The threads that use its places then free the shared memory."""
        self.kill()
        self._free_places()

    def close(self) -> int | None:
        """Frees the shared memory of a process that has ended, and returns its exit code.

        If a thread still uses a place, the place's memory is freed when the thread returns it.
        """
        self._close()
        with self._ending:
            if not self._codes:
                self._codes.append(fork_server().exit_code(self.process, _STATUS_S))
            return self._codes[0]

    def tell(self, message: object, descriptors: Sequence[int] = (), block: int = 0) -> None:
        """Sends a message. `answer` returns the reply.

        Raises:
            WorkerEnded: If the process has ended.
        """
        self._num_told += 1
        try:
            self._channel.send(message, descriptors)
        except OSError as error:
            raise self._ended(block) from error

    def answer(self, timeout: float | None = None, block: int = 0) -> object:
        """Waits for the reply to the oldest unanswered message, and returns it.

        Raises:
            TimeoutError: If no reply arrives in time. No other reply can be requested after that.
            WorkerEnded: If the process has ended.
        """
        try:
            answer, _ = self._channel.receive(timeout)
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise self._ended(block) from error
        self._num_answers += 1
        return answer

    def output_arena(self, size: int) -> Arena:
        """Returns the first place's arena with results, of which `size` bytes are used."""
        arena = self._places[0].output_arena
        arena.map(size)
        return arena

    def _ended(self, block: int) -> WorkerEnded:
        status = self.call_status
        return WorkerEnded(self.process, self.close(), status.call(block), status.is_calling())

    def _close(self) -> None:
        self._channel.close()
        self._free_places()

    def _free_places(self) -> None:
        with self._lock:
            self.has_closed = True
            for place in self._free:
                place.close()


def start_workers(count: int) -> list[RemoteWorker]:
    """Starts several worker processes at once.

    Raises:
        RuntimeError: If they cannot be started.
    """
    workers: list[RemoteWorker] = []
    try:
        for _ in range(count):
            workers.append(RemoteWorker())
        processes = fork_server().start_workers([worker.descriptors for worker in workers])
    except BaseException:
        for worker in workers:
            worker.discard()
        raise
    for worker, process in zip(workers, processes, strict=True):
        worker.begun(process)
    return workers


class Processes:
    """The workers of one iteration.

    Attributes:
        is_over: Whether the iteration is over.
        hold: Called with the number of bytes whenever more memory is shared.
    """

    def __init__(
        self, holders: Sequence[WorkerHolder], num_workers: int, num_kept: int | None = None
    ) -> None:
        """Uses the holders' idle workers first.

        Args:
            holders: The holders of idle workers. The first one keeps the workers afterwards.
            num_workers: The number of workers to start when the first one is needed.
            num_kept: The maximum number to keep for the next iteration; `num_workers` if None.
        """
        self._holders: Final = holders
        self._num_workers: Final = num_workers
        self._num_kept: Final = num_workers if num_kept is None else num_kept
        self._lock = threading.Lock()
        self._workers: list[RemoteWorker] = []
        self._held: dict[int, int] = {}
        self._has_ended = False
        self.is_over = False
        self.keeps_workers = False
        self.hold: Callable[[int], None] = lambda num_bytes: None

    @contextlib.contextmanager
    def place(self, plan: StagesMessage) -> Iterator[Place]:
        """Returns a place of the least busy worker. The first call starts all workers.

        There must not be more threads than places.

        Args:
            plan: The plan for all workers.

        Raises:
            RuntimeError: If workers cannot be started, or the iteration is over.
            WorkerEnded: If workers end as soon as they have been started.
        """
        with self._lock:
            if self._has_ended:
                raise RuntimeError("the iteration is over")
            self._workers = [worker for worker in self._workers if not worker.has_closed]
            if len(self._workers) < self._num_workers:
                self._start(plan)
            worker = max(self._workers, key=lambda worker: worker.num_free)
            place = worker.take_place()
        try:
            yield place
        finally:
            worker.leave(place)

    def _start(self, plan: StagesMessage) -> None:
        """Starts the missing workers. They load their functions in parallel."""
        ended = None
        for _ in range(_MOST_STARTS):
            count = self._num_workers - len(self._workers)
            if count == 0:
                return
            taken = [workers for _ in range(count) if (workers := self._taken()) is not None]
            for worker in (*taken, *start_workers(count - len(taken))):
                worker.call_status.stop(self.is_over)
                try:
                    worker.offer(plan)
                except WorkerEnded as end:  # The worker ended while it was idle.
                    ended = end
                else:
                    self._workers.append(worker)
        if ended is not None and len(self._workers) < self._num_workers:
            raise ended

    def _taken(self) -> RemoteWorker | None:
        for holder in self._holders:
            if (worker := holder.take()) is not None:
                return cast("RemoteWorker", worker)
        return None

    def forget(self, worker: RemoteWorker) -> None:
        """Forgets a worker that has ended. Another one will replace it."""
        with self._lock:
            self._workers = [other for other in self._workers if other is not worker]

    def note_memory(self, worker: RemoteWorker) -> None:
        """Counts the memory shared with a worker towards the iteration's memory."""
        with self._lock:
            more = worker.num_bytes - self._held.get(worker.process, 0)
            if more > 0:
                self._held[worker.process] = worker.num_bytes
        if more > 0:
            self.hold(more)

    def stop(self) -> None:
        """Makes all workers stop after their current calls."""
        with self._lock:
            self.is_over = True
            for worker in self._workers:
                worker.call_status.stop(True)

    def end(self) -> None:
        """Ends the workers, or keeps them for the next iteration."""
        with self._lock:
            self._has_ended = True
            workers, self._workers = self._workers, []
        idle = []
        for worker in workers:
            if worker.num_free < NUM_PLACES:
                worker.abandon()
            else:
                idle.append(worker)
        while (other := self._taken()) is not None:
            idle.append(other)
        num_kept = self._num_kept if self.keeps_workers else 0
        for worker in idle[num_kept:]:
            worker.end()
        # The next iteration takes the last worker first. While components are learned, that must be
        # the worker that has seen the first example.
        for worker in reversed(idle[:num_kept]):
            worker.call_status.stop(False)
            self._holders[0].put(worker)


def columns_of(layout: Layout, columns: Sequence[Any]) -> tuple[Any, ...]:
    """Adds columns of the engine to a layout, and returns their locations."""
    arrays = []
    for column in columns:
        strings: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = column.to_arrow()
        added = layout.add(column.to_python()) if strings is None else layout.add_strings(*strings)
        arrays.append(added)
    return tuple(arrays)


def row_ids_of(layout: Layout, row_ids: npt.NDArray[np.uint64]) -> tuple[Any, ...]:
    """Adds the row IDs to a layout, and returns their location."""
    return layout.add(row_ids)
