"""Batches that worker processes fetch in advance."""

import functools
import itertools
import os
import time
import warnings
from collections import deque
from dataclasses import replace
from pickle import PicklingError
from typing import Any, Final, NamedTuple

import torch
import torch.multiprocessing
from torch.utils.data import _utils
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _sharding_worker_init_fn,
)
from torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

from headrace.pipeline.workers.child_process import ChildProcess
from headrace.pipeline.workers.remote import WorkerEnded
from headrace.torch.answers import Answers, PinnedAnswers, Received
from headrace.torch.indices import Position
from headrace.torch.iteration import LoaderIteration
from headrace.torch.loader_state import LoaderState, WorkerState
from headrace.torch.progress import Progress
from headrace.torch.worker import (
    Answer,
    AnswerKind,
    FetchRequest,
    NewEpochRequest,
    WorkerPlan,
    run_worker,
)
from headrace.torch.worker_errors import ended_error, samples_of, timed_out_error

__all__ = ["ProcessIteration"]

_CANNOT_START: Final = (
    "Got pickle error when attempting to start a worker Process. This might be because the worker "
    "Process arguments are not picklable. Python 3.14+ changed the multiprocessing start method in "
    "non-Mac POSIX platforms to 'forkserver', which requires the worker Process arguments to be "
    "picklable. You can also try multiprocessing.set_start_method('fork')."
)


class _Task(NamedTuple):
    """A batch that a worker prepares: its number, its indices, and the position after them."""

    number: int
    index: Any
    position: Position


class ProcessIteration(LoaderIteration, _MultiProcessingDataLoaderIter):  # type: ignore[misc]
    """An epoch whose batches are fetched by worker processes in turn, as in PyTorch's loader.

    Training libraries use `_workers` and `_shutdown_workers`.
    """

    def __init__(self, loader: Any, progress: Progress, resumed: LoaderState | None) -> None:
        self._owner: Final = os.getpid()
        self._shutdown = False
        self._children: Final[list[ChildProcess]] = []
        self._workers: Final[list[Any]] = []
        self._answers: Answers | None = None
        self._failure: BaseException | None = None
        self._prefetch_factor: Final = loader.prefetch_factor
        self._in_order: Final = loader.in_order
        self._every: Final = loader.snapshot_every_n_steps
        self._keeps_workers = loader.persistent_workers
        self._begin_epoch(loader, progress, resumed, lambda: self._open(loader))
        if self._prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        self._is_iterable: Final = self._dataset_kind == _DatasetKind.Iterable
        self._is_within: Final = resumed is not None and resumed.has_begun
        states: Any = None
        if resumed is not None and resumed.workers and (self._is_within or self._keeps_workers):
            states = list(resumed.workers)
        self._start_workers(loader, states)
        if states is not None and not self._is_within:
            states = [replace(state, num_since=0, has_ended=False) for state in states]
        self._answers = (
            PinnedAnswers(self._children, self._in_order, self._pin_memory_device)
            if self._pin_memory
            else Answers(self._children, self._in_order)
        )
        progress.workers = states or [WorkerState()] * self._num_workers
        self._request_first()

    def _open(self, loader: Any) -> None:
        """Opens the sampler's iterator twice, as PyTorch does before the first index."""
        _BaseDataLoaderIter.__init__(self, loader)
        # Workers use the seed that was drawn first.
        shared_seed = self._shared_seed
        _BaseDataLoaderIter._reset(self, loader, True)
        self._shared_seed = shared_seed

    def _start_workers(self, loader: Any, states: list[WorkerState] | None) -> None:
        context = loader.multiprocessing_context or torch.multiprocessing
        init = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            init = functools.partial(_sharding_worker_init_fn, init, self._world_size, self._rank)
        plan = WorkerPlan(
            self._dataset,
            self._is_iterable,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            init,
            0,
            self._num_workers,
            self._shared_seed,
            self._every,
            None,
            not self._is_within,
            [None] * loader.batch_size if self._is_iterable and self._auto_collation else None,
        )
        for worker in range(self._num_workers):
            resumed = None if states is None else states[worker]
            plan_of_worker = replace(plan, worker=worker, resumed=resumed)
            try:
                child = ChildProcess(context, run_worker, ([plan_of_worker],))
            except (TypeError, AttributeError, PicklingError):
                warnings.warn(_CANNOT_START, stacklevel=2)
                raise
            self._children.append(child)
            self._workers.append(child.process)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begins a new epoch with the same workers."""
        if self._failure is not None:
            raise self._failure
        assert self._answers is not None
        self._answers.close()
        progress, before = Progress(loader), self._progress.workers
        self._begin_epoch(
            loader, progress, None, lambda: _BaseDataLoaderIter._reset(self, loader, False)
        )
        loader._progress = progress
        for child, segments in zip(self._children, self._answers.segments, strict=True):
            self._tell(child, NewEpochRequest(self._shared_seed, segments.unused()))
        progress.workers = [
            replace(self._until_new_epoch(worker, state), num_since=0, has_ended=False)
            for worker, state in enumerate(before)
        ]
        self._request_first()

    def _until_new_epoch(self, worker: int, state: WorkerState) -> WorkerState:
        """Discards a worker's remaining batches from the previous epoch, and returns its state."""
        assert self._answers is not None
        while True:
            try:
                received = self._answers.take(worker, self._timeout or None)
            except WorkerEnded as end:
                error = self._failed(worker, end)
                raise error from error.__cause__
            state = _state_after(state, received.answer, self._is_iterable)
            if received.answer.kind == AnswerKind.NEW_EPOCH:
                return state

    def _request_first(self) -> None:
        """Requests the epoch's first batches from the workers, or the first ones after a state."""
        progress = self._progress
        self._tasks: list[deque[_Task]] = [deque() for _ in self._children]
        self._num_requested = 0
        self._newest = -1
        self._is_active = [not state.has_ended for state in progress.workers]
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(progress.next_worker):
            next(self._turns)
        for worker, index in progress.pending:
            self._request(worker, index, progress.position)
        for _ in range(self._prefetch_factor * self._num_workers - len(progress.pending)):
            self._request_next()

    def _request_next(self) -> None:
        """Requests the batch with the next indices, if any, from the worker whose turn it is."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker = self._worker_at_turn()
        if worker is not None:
            self._request(worker, index, self._indices.position())

    def _worker_at_turn(self) -> int | None:
        most = self._prefetch_factor * self._num_workers // max(sum(self._is_active), 1)
        for worker in itertools.islice(self._turns, self._num_workers):
            if self._is_active[worker] and (self._in_order or len(self._tasks[worker]) < most):
                return worker
        return None

    def _request(self, worker: int, index: Any, position: Position) -> None:
        assert self._answers is not None
        self._tell(
            self._children[worker], FetchRequest(index, self._answers.segments[worker].unused())
        )
        self._tasks[worker].append(_Task(self._num_requested, index, position))
        self._num_requested += 1
        self._answers.expect(worker)

    def _tell(self, child: ChildProcess, message: FetchRequest | NewEpochRequest) -> None:
        try:
            child.tell(message)
        except OSError:
            pass  # The worker has ended. The wait for its answer will report that.

    def _next_data(self) -> Any:
        began = time.perf_counter()
        if self._failure is not None:
            raise self._failure
        progress = self._progress
        while any(self._tasks):
            worker, answer, data = self._next_answer()
            task = self._tasks[worker].popleft()
            progress.workers[worker] = _state_after(
                progress.workers[worker], answer, self._is_iterable
            )
            if answer.kind == AnswerKind.END:
                self._tasks[worker].clear()
                self._is_active[worker] = False
                if not self._keeps_workers:
                    self._children[worker].stop()
                self._request_next()
                continue
            self._request_next()
            if answer.kind == AnswerKind.ERROR:
                data.reraise()
            self._note(worker, task)
            progress.times.add(*answer.seconds)
            progress.times.note(began)
            return data
        progress.has_finished = True
        progress.position = self._indices.position()
        if not self._keeps_workers:
            self._shutdown_workers()
        raise StopIteration

    def _note(self, worker: int, task: _Task) -> None:
        """Records that the loop receives a batch."""
        progress = self._progress
        progress.num_yielded += 1
        if task.number > self._newest:
            self._newest, progress.position = task.number, task.position
            progress.next_worker = (worker + 1) % self._num_workers
        if not self._in_order and not self._is_iterable:
            older = [
                (other.number, number, other.index)
                for number, tasks in enumerate(self._tasks)
                for other in tasks
                if other.number < self._newest
            ]
            progress.pending = tuple((number, index) for _, number, index in sorted(older))

    def _next_answer(self) -> Received:
        assert self._answers is not None
        try:
            return self._answers.next(self._timeout or None)
        except TimeoutError:
            worker = self._slowest()
            child = self._children[worker]
            samples = self._samples_at(worker, child.call_status.call())
            raise timed_out_error(self._timeout, worker, child.process.pid, samples) from None
        except WorkerEnded as end:
            worker = [process.pid for process in self._workers].index(end.worker)
            error = self._failed(worker, end)
            raise error from error.__cause__

    def _slowest(self) -> int:
        """Returns the worker responsible for the oldest pending batch."""
        return min((tasks[0].number, worker) for worker, tasks in enumerate(self._tasks) if tasks)[
            1
        ]

    def _failed(self, worker: int, end: WorkerEnded) -> BaseException:
        """Returns the error for a worker that has ended. Each later call raises the same error."""
        self._failure = ended_error(end, worker, self._samples_at(worker, end.call))
        return self._failure

    def _samples_at(self, worker: int, call: tuple[int, int] | None) -> str:
        tasks = self._tasks[worker]
        index = tasks[0].index if tasks else ()
        place = None if call is None else call[0]
        return samples_of(index, self._auto_collation, self._is_iterable, place)

    def _shutdown_workers(self) -> None:
        """Ends the workers. Training libraries for PyTorch also call this method."""
        if self._shutdown or self._owner != os.getpid():
            return
        if _utils is None or _utils.python_exit_status in (True, None):
            # At the end of the program, `multiprocessing` ends them.
            for child in self._children:
                child.close()
            return
        self._shutdown = True
        try:
            if self._answers is not None:
                self._answers.close()
            for child in self._children:
                child.stop()
        finally:
            for child in self._children:
                child.end(_utils.MP_STATUS_CHECK_INTERVAL)

    def __del__(self) -> None:
        self._shutdown_workers()


def _state_after(state: WorkerState, answer: Answer, is_iterable: bool) -> WorkerState:
    """Returns the state of a worker after an answer."""
    random = state.random if answer.random is None else answer.random.over(state.random)
    has_ended = state.has_ended or answer.kind == AnswerKind.END
    if answer.states is not None:
        return WorkerState(answer.states, 0, has_ended, random)
    is_further = is_iterable and answer.kind == AnswerKind.BATCH
    return WorkerState(state.states, state.num_since + is_further, has_ended, random)
