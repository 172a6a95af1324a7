"""Receives answers from worker processes, in request order or in arrival order."""

import queue
import select
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import _utils

from headrace.pipeline.workers.child_process import ChildProcess
from headrace.pipeline.workers.shared_segments import FilledSegments
from headrace.torch.shared_batches import unpacked
from headrace.torch.worker import Answer, AnswerKind

__all__ = ["Answers", "PinnedAnswers", "Received"]

# How many segments per worker a loop may hold before batches are copied.
_MOST_HELD: Final = 2
# The interval in seconds at which a thread checks whether it must end.
_LOOK_S: Final = 0.2


class Received(NamedTuple):
    """An answer, its worker, and the batch or the wrapped error in it."""

    worker: int
    answer: Answer
    data: Any


class Answers:
    """Receives the answers of workers.

    Attributes:
        segments: The shared memory of each worker.
    """

    def __init__(self, children: Sequence[ChildProcess], in_order: bool) -> None:
        self.segments: Final = [FilledSegments(_MOST_HELD) for _ in children]
        self._children: Final = children
        self._in_order: Final = in_order
        # The workers that have not answered yet, in the order of the requests.
        self._owed: Final[deque[int]] = deque()

    def expect(self, worker: int) -> None:
        """Records that a batch was requested from a worker."""
        self._owed.append(worker)

    def next(self, timeout: float | None) -> Received:
        """Waits for the next answer.

        Raises:
            TimeoutError: If no answer arrives in time.
            WorkerEnded: If the worker has ended.
        """
        worker = self._owed[0] if self._in_order else self._ready(timeout)
        received = self.take(worker, timeout)
        self._settle(worker, received.answer.kind == AnswerKind.END)
        return received

    def _settle(self, worker: int, is_end: bool) -> None:
        """Records an answer. A worker whose data has ended sends no further answers."""
        self._owed.remove(worker)
        while is_end and worker in self._owed:
            self._owed.remove(worker)

    def take(self, worker: int, timeout: float | None) -> Received:
        """Waits for the next answer of a worker; see `next`."""
        answer, descriptors = self._children[worker].answer(timeout)
        data = None
        if answer.batch is not None:
            try:
                data = unpacked(answer.batch, descriptors, self.segments[worker])
            except Exception:
                answer = answer._replace(kind=int(AnswerKind.ERROR))
                data = ExceptionWrapper(where=f"with the batch of DataLoader worker {worker}")
        return Received(worker, answer, data)

    def close(self) -> None:
        """Stops receiving answers until the next epoch."""
        self._owed.clear()

    def _ready(self, timeout: float | None) -> int:
        """Waits until one of the workers has answered, or has ended."""
        poll = select.poll()
        workers = {self._children[worker].fileno(): worker for worker in self._owed}
        for descriptor in workers:
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(None if timeout is None else timeout * 1e3)
        if not ready:
            raise TimeoutError
        return workers[ready[0][0]]


class PinnedAnswers(Answers):
    """Receives answers, and copies their batches to pinned memory in a thread, ahead of the loop.

    The thread holds no reference to the owner of this object. An iteration can therefore end as
    soon as it is dropped.
    """

    def __init__(self, children: Sequence[ChildProcess], in_order: bool, device: str) -> None:
        super().__init__(children, in_order)
        self._device: Final = device
        self._results: queue.SimpleQueue[Received | BaseException] = queue.SimpleQueue()
        self._changed: Final = threading.Condition()
        self._thread: threading.Thread | None = None
        self._must_end = False

    def expect(self, worker: int) -> None:
        """Records that a batch was requested from a worker."""
        with self._changed:
            super().expect(worker)
            self._changed.notify()
        if self._thread is None:
            self._must_end = False
            self._thread = threading.Thread(
                target=self._pin,
                args=(torch.accelerator.current_device_index(),),
                name="headrace-pin-memory",
                daemon=True,
            )
            self._thread.start()

    def next(self, timeout: float | None) -> Received:
        """Waits for the next answer; see `Answers.next`."""
        try:
            received = self._results.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(received, BaseException):
            raise received
        return received

    def _settle(self, worker: int, is_end: bool) -> None:
        with self._changed:
            super()._settle(worker, is_end)

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._must_end = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._results = queue.SimpleQueue()
        super().close()

    def _pin(self, index: int) -> None:
        torch.accelerator.set_device_index(index)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._owed or self._must_end)
                if self._must_end:
                    return
            try:
                received = super().next(_LOOK_S)
            except TimeoutError:
                continue
            except BaseException as error:
                self._results.put(error)
                return
            self._results.put(self._pinned(received))

    def _pinned(self, received: Received) -> Received:
        if received.answer.kind != AnswerKind.BATCH:
            return received
        try:
            data = _utils.pin_memory.pin_memory(received.data, self._device)
        except Exception:
            where = f"in pin memory thread for device {self._device}"
            answer = received.answer._replace(kind=int(AnswerKind.ERROR))
            return Received(received.worker, answer, ExceptionWrapper(where=where))
        return received._replace(data=data)
