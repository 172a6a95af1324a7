"""A worker process of the loader: it fetches batches in request order."""

import gc
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import torch
import torch.multiprocessing
from torch._utils import ExceptionWrapper
from torch.utils.data import _utils
from torch.utils.data.datapipes.datapipe import IterDataPipe
from torch.utils.data.graph_settings import apply_random_seed

from headrace.pipeline.workers.child_process import ProgramSide
from headrace.torch.fetching import (
    Fetcher,
    IterableFetcher,
    Stopped,
    fetcher_of,
    is_stateful,
    load_state,
    state_of,
)
from headrace.torch.loader_state import WorkerState
from headrace.torch.random_states import RandomStates
from headrace.torch.shared_batches import BatchWriter, PackedBatch

__all__ = ["Answer", "AnswerKind", "FetchRequest", "NewEpochRequest", "WorkerPlan", "run_worker"]


@dataclass
class WorkerPlan:
    """The data that a worker process needs at its start.

    Attributes:
        dataset: The dataset.
        is_iterable: Whether it is iterable-style.
        auto_collation: Whether samples are collated into batches.
        collate_fn: Creates a batch.
        drop_last: Whether an incomplete last batch is omitted.
        base_seed: The seed of the first worker. Each further worker has the next number.
        worker_init_fn: Called before the first batch, unless it is None.
        worker: The number of the worker.
        num_workers: The total number of workers.
        shared_seed: The DataPipe seed shared by all processes.
        every: The number of batches between two states of an iterable-style dataset.
        resumed: The state from which the worker continues, or None for the beginning.
        is_next_epoch: Whether `resumed` is the state at the end of an epoch, and the next epoch
            begins.
        resumed_index: The indices with which batches are fetched again after a resume.
    """

    dataset: Any
    is_iterable: bool
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int | None
    worker_init_fn: Any
    worker: int
    num_workers: int
    shared_seed: int | None
    every: int
    resumed: WorkerState | None
    is_next_epoch: bool
    resumed_index: Any


class FetchRequest(NamedTuple):
    """A request for a batch.

    Attributes:
        index: The indices of the batch.
        unused: The segments that may be reused.
    """

    index: Any
    unused: Sequence[int]


class NewEpochRequest(NamedTuple):
    """A request for a new iterator of the dataset; see `WorkerPlan` for the seed."""

    shared_seed: int | None
    unused: Sequence[int]


class AnswerKind(IntEnum):
    """The kinds of answers."""

    BATCH = 0
    ERROR = 1
    END = 2
    NEW_EPOCH = 3


class Answer(NamedTuple):
    """An answer of a worker.

    Attributes:
        kind: The kind of the answer.
        batch: The batch, or the error as PyTorch wraps it. None for other kinds.
        states: The pickled states of the dataset and its iterator after the batch, or None if they
            have no state, or if no state is due yet.
        random: The states of the global generators that have changed since the last answer.
        seconds: The seconds spent in the dataset, and in `collate_fn`.
    """

    kind: int
    batch: PackedBatch | None = None
    states: bytes | None = None
    random: RandomStates | None = None
    seconds: tuple[float, float] = (0.0, 0.0)


def run_worker(program: ProgramSide, holder: list[WorkerPlan]) -> None:
    """Answers requests until the program ends the worker.

    Args:
        program: The connection to the program.
        holder: A list that contains the plan. The plan is removed from it, so that nothing else
            keeps the dataset alive.
    """
    # The garbage collector would write to objects that the program shares with its forks.
    gc.freeze()
    _utils.signal_handling._set_worker_signal_handlers()
    if hasattr(torch.multiprocessing, "_set_thread_name"):
        torch.multiprocessing._set_thread_name("pt_data_worker")
    torch.set_num_threads(1)
    plan = holder.pop()
    worker = _Worker(program, plan)
    try:
        worker.begin()
        while (message := program.next_message()) is not None:
            worker.answer(message)
    except Stopped:
        pass
    finally:
        _utils.worker._worker_info = None


class _Worker:
    def __init__(self, program: ProgramSide, plan: WorkerPlan) -> None:
        self._program: Final = program
        self._plan: Final = plan
        self._dataset = plan.dataset
        self._writer: Final = BatchWriter()
        self._fetcher: Fetcher | None = None
        self._init_error: Any = None
        self._has_ended = False
        self._num_batches = 0
        self._shared_rng: Final = torch.Generator()

    def begin(self) -> None:
        """Seeds the generators, and opens the dataset."""
        plan = self._plan
        assert plan.base_seed is not None
        seed = plan.base_seed + plan.worker
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(_utils.worker._generate_state(plan.base_seed, plan.worker))
        self._seed_datapipe(plan.shared_seed)
        _utils.worker._worker_info = _utils.worker.WorkerInfo(
            id=plan.worker, num_workers=plan.num_workers, seed=seed, dataset=self._dataset
        )
        self._writer.install()
        self._random = RandomStates.current()
        try:
            if plan.worker_init_fn is not None:
                plan.worker_init_fn(plan.worker)
            self._random = RandomStates.current()
            self._open(plan.resumed)
        except Exception:
            self._init_error = self._wrapped()

    def _open(self, resumed: WorkerState | None) -> None:
        plan = self._plan
        dataset, fetcher = (None, None) if resumed is None else resumed.unpickled()
        load_state(self._dataset, dataset)
        self._fetcher = self._new_fetcher()
        self._has_ended = resumed is not None and resumed.has_ended
        if resumed is None:
            return
        if isinstance(self._fetcher, IterableFetcher):
            if resumed.has_ended:
                keeps_state = resumed.states is not None
                is_at_end = self._fetcher.finish(fetcher) if keeps_state else True
                if plan.is_next_epoch:
                    self._has_ended = False
                    if keeps_state and is_at_end:
                        self._fetcher = self._new_fetcher()
            else:
                if fetcher is not None:
                    self._fetcher.load(fetcher)
                for _ in range(resumed.num_since):
                    self._fetcher.skip(plan.resumed_index)
        resumed.random.set()

    def _new_fetcher(self) -> Fetcher:
        plan = self._plan
        return fetcher_of(
            plan.is_iterable,
            self._dataset,
            plan.auto_collation,
            plan.collate_fn,
            plan.drop_last,
            lambda place: self._program.call_status.begin_call(place, 0),
        )

    def answer(self, message: FetchRequest | NewEpochRequest) -> None:
        """Handles a message, and sends the answer, if any."""
        self._writer.segments.release(message.unused)
        if isinstance(message, NewEpochRequest):
            self._begin_epoch(message.shared_seed)
        elif self._init_error is not None:
            self._send(AnswerKind.ERROR, self._init_error)
        elif not self._has_ended:
            self._fetch(message.index)

    def _begin_epoch(self, shared_seed: int | None) -> None:
        self._seed_datapipe(shared_seed)
        self._init_error = None
        try:
            self._open(None)
        except Exception:
            self._init_error = self._wrapped()
        self._num_batches = 0
        self._send(AnswerKind.NEW_EPOCH, states=self._states())

    def _fetch(self, index: Any) -> None:
        assert self._fetcher is not None
        try:
            batch = self._fetcher.fetch(index)
        except Stopped:
            raise
        except Exception as error:
            self._program.call_status.forget_calls()
            if isinstance(error, StopIteration) and self._plan.is_iterable:
                self._has_ended = True
                self._writer.segments.give_up()
                self._send(AnswerKind.END, states=self._states())
                return
            wrapped = self._wrapped()
            self._writer.segments.give_up()
            self._send(AnswerKind.ERROR, wrapped)
            return
        # The main process must know the sample in case this process dies.
        self._program.call_status.forget_calls()
        self._num_batches += 1
        is_due = not self._plan.is_iterable or self._num_batches % self._plan.every == 0
        try:
            states = self._states() if is_due else None
            self._send(AnswerKind.BATCH, batch.data, states, batch[1:])
        except OSError:
            raise
        except Exception:
            wrapped = self._wrapped()
            self._writer.segments.give_up()
            self._send(AnswerKind.ERROR, wrapped)

    def _states(self) -> bytes | None:
        """Returns the pickled states of the dataset and of its iterator."""
        fetcher = self._fetcher
        if not isinstance(fetcher, IterableFetcher):
            return pickle.dumps((state_of(self._dataset), None)) if self._keeps() else None
        if not (self._keeps() or is_stateful(fetcher.dataset_iter)):
            return None
        dataset = None if fetcher.dataset_iter is self._dataset else state_of(self._dataset)
        return pickle.dumps((dataset, fetcher.state()))

    def _keeps(self) -> bool:
        return is_stateful(self._dataset)

    def _send(
        self,
        kind: AnswerKind,
        data: Any = None,
        states: bytes | None = None,
        seconds: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        packed, new = None, None
        if kind in (AnswerKind.BATCH, AnswerKind.ERROR):
            packed, new = self._writer.packed(data)
        before, self._random = self._random, RandomStates.current()
        changed = self._random.unlike(before)
        answer = Answer(int(kind), packed, states, changed or None, seconds)
        if new is None:
            self._program.send(answer)
        else:
            self._program.send(answer, [new.descriptor])
            new.close()

    def _seed_datapipe(self, seed: int | None) -> None:
        if isinstance(self._dataset, IterDataPipe):
            assert seed is not None
            self._shared_rng.manual_seed(seed)
            self._dataset = apply_random_seed(self._dataset, self._shared_rng)

    def _wrapped(self) -> ExceptionWrapper:
        """Returns the current exception, wrapped as in PyTorch's loader."""
        wrapped = ExceptionWrapper(where=f"in DataLoader worker process {self._plan.worker}")
        for kind in wrapped.exc_type.__mro__:
            try:
                pickle.dumps(kind)
            except Exception:  # A class defined inside a function cannot be found by name.
                continue
            wrapped.exc_type = kind
            break
        return wrapped
