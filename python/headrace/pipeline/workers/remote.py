"""The program's side of a worker process, and the workers of one iteration."""

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
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

__all__ = ["Processes", "RemoteWorker", "WorkerEnded", "memory_file", "start_workers"]

_STATUS_S: Final = 2.0
_END_S: Final = 1.0
# How often to start workers again if they end before they are needed.
_MOST_STARTS: Final = 3


class WorkerEnded(Exception):
    """A worker process has ended while it was needed.

    Attributes:
        worker: Its process ID.
        code: Its exit code, or the negative signal number; None if it is unknown.
        call: The row and step of its current call; None if there was none.
    """

    def __init__(self, worker: int, code: int | None, call: tuple[int, int] | None) -> None:
        super().__init__(worker, code, call)
        self.worker = worker
        self.code = code
        self.call = call

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


class RemoteWorker:
    """One worker process. Only one thread at a time may use it.

    Attributes:
        process: Its process ID.
        call_status: The shared page that shows its current call.
        is_busy: Whether it has yet to answer a message.
        plan: The number of the last plan it received.
    """

    def __init__(self) -> None:
        """Creates the shared memory. `start_workers` then starts the process."""
        self._channel, self._end = channels()
        self._call_status = memory_file()
        self._input_arena, self._output_arena = Arena(memory_file()), Arena(memory_file())
        self._is_renewed = False
        self._owner: Final = os.getpid()
        self._offered: int | None = None
        self.is_busy = False
        self.plan: int | None = None

    @property
    def descriptors(self) -> list[int]:
        """The file descriptors that are passed to the process."""
        arenas = (self._input_arena.descriptor, self._output_arena.descriptor)
        return [self._end.fileno(), self._call_status, *arenas]

    def begun(self, process: int) -> None:
        """Sets the ID of its process, which has started."""
        self._end.close()
        self.process = process
        self.call_status = SharedCallStatus(self._call_status)

    def discard(self) -> None:
        """Frees the shared memory, because the process could not be started."""
        self._end.close()
        os.close(self._call_status)
        self._close()

    @property
    def num_bytes(self) -> int:
        """The number of bytes of shared memory."""
        return self._input_arena.size + self._output_arena.size

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
        while True:
            self.offer(plan)
            number, answer = self._offered, self.answer()
            self._offered = None
            if number == plan.number:
                self.plan = number
                return cast("PackedError | None", answer)

    def run(self, layout: Layout, block: RowsMessage) -> tuple[ResultMessage, Arena]:
        """Makes the process work on rows, and returns the result and the arena that contains it.

        Raises:
            WorkerEnded: If the process has ended.
        """
        if self._is_renewed:
            # A function has kept arrays of this arena, which must therefore not change.
            self._input_arena.close()
            self._input_arena = Arena(memory_file())
        layout.write(self._input_arena)
        block = replace(block, size=self._input_arena.size, is_renewed=self._is_renewed)
        descriptors = [self._input_arena.descriptor] if self._is_renewed else []
        self.call_status.forget_calls()
        self.tell(block, descriptors)
        message = cast("ResultMessage", self.answer())
        self._is_renewed = message.keeps_arrays
        return message, self.output_arena(message.size)

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

    def close(self) -> int | None:
        """Frees the shared memory of a process that has ended, and returns its exit code."""
        self._close()
        return fork_server().exit_code(self.process, _STATUS_S)

    def tell(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Sends a message. `answer` returns the reply.

        Raises:
            WorkerEnded: If the process has ended.
        """
        self.is_busy = True
        try:
            self._channel.send(message, descriptors)
        except OSError as error:
            raise self._ended() from error

    def answer(self, timeout: float | None = None) -> object:
        """Waits for the reply to the oldest unanswered message, and returns it.

        Raises:
            TimeoutError: If it takes longer. No other reply can be requested after that.
            WorkerEnded: If the process has ended.
        """
        try:
            answer, _ = self._channel.receive(timeout)
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise self._ended() from error
        self.is_busy = False
        return answer

    def output_arena(self, size: int) -> Arena:
        """Returns the arena with results, of which `size` bytes are used."""
        self._output_arena.map(size)
        return self._output_arena

    def _ended(self) -> WorkerEnded:
        call = self.call_status.call()
        return WorkerEnded(self.process, self.close(), call)

    def _close(self) -> None:
        self._channel.close()
        for arena in (self._input_arena, self._output_arena):
            with contextlib.suppress(OSError):
                arena.close()


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
    """The workers of one iteration, one for each thread that needs one.

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
        self._workers: dict[int, RemoteWorker] = {}
        # Workers that no thread has requested yet.
        self._spare: list[RemoteWorker] = []
        self._held: dict[int, int] = {}
        self._has_ended = False
        self.is_over = False
        self.keeps_workers = False
        self.hold: Callable[[int], None] = lambda num_bytes: None

    def worker(self, plan: StagesMessage) -> RemoteWorker:
        """Returns this thread's worker. The first call starts the workers of all threads.

        Args:
            plan: The plan for all workers.

        Raises:
            RuntimeError: If workers cannot be started, or the iteration is over.
            WorkerEnded: If workers end as soon as they have been started.
        """
        thread = threading.get_ident()
        with self._lock:
            if self._has_ended:
                raise RuntimeError("the iteration is over")
            idle = self._workers.get(thread)
            if idle is None:
                if not self._spare:
                    self._start(plan)
                idle = self._spare.pop(0)
                self._workers[thread] = idle
        return idle

    def _start(self, plan: StagesMessage) -> None:
        """Starts spare workers, which load their functions in parallel."""
        ended = None
        for _ in range(_MOST_STARTS):
            count = max(self._num_workers - len(self._workers), 1)
            taken = [workers for _ in range(count) if (workers := self._taken()) is not None]
            for worker in (*taken, *start_workers(count - len(taken))):
                worker.call_status.stop(self.is_over)
                try:
                    worker.offer(plan)
                except WorkerEnded as end:  # The worker ended while it was idle.
                    ended = end
                else:
                    self._spare.append(worker)
            if self._spare:
                return
        assert ended is not None
        raise ended

    def _taken(self) -> RemoteWorker | None:
        for holder in self._holders:
            if (worker := holder.take()) is not None:
                return cast("RemoteWorker", worker)
        return None

    def forget(self, worker: RemoteWorker) -> None:
        """Forgets a worker that has ended, so that another one replaces it."""
        with self._lock:
            self._workers = {
                thread: other for thread, other in self._workers.items() if other is not worker
            }

    def note_memory(self, worker: RemoteWorker) -> None:
        """Counts the memory shared with a worker towards the iteration's memory."""
        more = worker.num_bytes - self._held.get(worker.process, 0)
        if more > 0:
            self._held[worker.process] = worker.num_bytes
            self.hold(more)

    def stop(self) -> None:
        """Tells all workers to stop after their current calls."""
        with self._lock:
            self.is_over = True
            for worker in (*self._workers.values(), *self._spare):
                worker.call_status.stop(True)

    def end(self) -> None:
        """Ends the workers, or keeps them for the next iteration."""
        with self._lock:
            self._has_ended = True
            workers, self._workers = self._workers, {}
            spare, self._spare = self._spare, []
        idle = []
        for worker in workers.values():
            if worker.is_busy:
                # Its thread is waiting for it, and will free the shared memory.
                worker.kill()
            else:
                idle.append(worker)
        idle += spare
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
