"""States of a loader, with the keys of torchdata's `StatefulDataLoader`."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headrace.torch.indices import BEGINNING, Position
from headrace.torch.random_states import NO_STATES, RandomStates

__all__ = ["EpochRandomness", "LoaderState", "OtherLoaderError", "WorkerState"]

_VERSION: Final = 1
_OURS: Final = "_headrace"


class OtherLoaderError(ValueError, AssertionError):
    """The error for a state that was saved by a different loader, or with different arguments.

    torchdata raises an AssertionError.
    """


@dataclass(frozen=True)
class EpochRandomness:
    """The random generator states needed to redraw an epoch's indices.

    Attributes:
        base_seed: The seed of the epoch's workers, or None if the epoch has not begun.
        start: The global states before the sampler's `iter`. Empty if `iter` draws nothing.
        first: The global states before the first index.
        start_generators: The states of the loader's and samplers' generators, taken together with
            `start`.
        first_generators: The states of the same generators, taken together with `first`.
    """

    base_seed: int | None = None
    start: RandomStates = NO_STATES
    first: RandomStates = NO_STATES
    start_generators: Mapping[str, Any] = field(default_factory=dict)
    first_generators: Mapping[str, Any] = field(default_factory=dict)

    def encoded(self) -> dict[str, Any]:
        """Returns the states in a form that JSON can represent."""
        return {
            "start": self.start.encoded(),
            "first": self.first.encoded(),
            "start_generators": dict(self.start_generators),
            "first_generators": dict(self.first_generators),
        }

    @classmethod
    def decoded(cls, base_seed: int | None, encoded: Mapping[str, Any]) -> "EpochRandomness":
        """Decodes the result of `encoded`."""
        return cls(
            base_seed,
            RandomStates.decoded(encoded["start"]),
            RandomStates.decoded(encoded["first"]),
            encoded["start_generators"],
            encoded["first_generators"],
        )


@dataclass(frozen=True)
class WorkerState:
    """The state of a worker process after its last batch that the loop received.

    Attributes:
        states: The pickled states of the dataset, and of its iterator as `IterableFetcher.state`
            returns it, or None if they have none.
        num_since: The number of batches since these two states. They are fetched again on resume.
        has_ended: Whether the worker has reported that its iterator has ended.
        random: The states of the global generators. A missing state is the one after seeding.
    """

    states: bytes | None = None
    num_since: int = 0
    has_ended: bool = False
    random: RandomStates = NO_STATES

    def unpickled(self) -> tuple[Any, dict[str, Any] | None]:
        """Returns the states of the dataset and of its iterator."""
        return (None, None) if self.states is None else pickle.loads(self.states)

    def as_dict(self, worker: int) -> dict[str, Any]:
        """Returns this worker's part of the loader's state."""
        dataset, fetcher = self.unpickled()
        return {
            "worker_id": worker,
            "dataset_state": dataset,
            "fetcher_state": fetcher,
            _OURS: {
                "num_since": self.num_since,
                "has_ended": self.has_ended,
                "random": self.random.encoded(),
            },
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "WorkerState":
        """Restores the object from a result of `as_dict`."""
        rest, both = state[_OURS], (state["dataset_state"], state["fetcher_state"])
        return cls(
            None if both == (None, None) else pickle.dumps(both),
            rest["num_since"],
            rest["has_ended"],
            RandomStates.decoded(rest["random"]),
        )


@dataclass(frozen=True)
class LoaderState:
    """The position of a loop over a loader.

    Attributes:
        facts: The properties that identify the loader; see `Progress.facts`.
        num_yielded: The number of batches that the loop received in this epoch.
        has_finished: Whether the epoch has ended.
        position: The position in the sampler's indices.
        randomness: The random states from which the epoch's indices are drawn.
        len_called: The length that `len(loader)` returned, for an iterable-style dataset.
        dataset: The state of the dataset in this process, or None if it has none.
        fetcher: The state of the dataset's iterator in this process.
        workers: The states of worker processes.
        next_worker: The worker that produces the next batch.
        pending: The indices of batches before the position that have not arrived, with their
            workers.
        shared_seed: The seed of a DataPipe.
    """

    facts: Mapping[str, Any]
    num_yielded: int = 0
    has_finished: bool = False
    position: Position = BEGINNING
    randomness: EpochRandomness = field(default_factory=EpochRandomness)
    len_called: int | None = None
    dataset: Any = None
    fetcher: dict[str, Any] | None = None
    workers: tuple[WorkerState, ...] = ()
    next_worker: int = 0
    pending: tuple[tuple[int, Any], ...] = ()
    shared_seed: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the state is inside an epoch. The epoch's indices are then drawn again."""
        return not self.has_finished and self.randomness.base_seed is not None

    def as_dict(self) -> dict[str, Any]:
        """Returns the result of `state_dict`."""
        sampler = {
            "_index_sampler_state": self.position.sampler,
            "_sampler_iter_state": self.position.iterator,
            "_sampler_iter_yielded": self.position.num_batches,
            "_IterableDataset_len_called": self.len_called,
            "_shared_seed": self.shared_seed,
        }
        ours = {
            "version": _VERSION,
            "loader": dict(self.facts),
            "random": self.randomness.encoded(),
        }
        if not self.facts["num_workers"]:
            return {
                **sampler,
                "_num_yielded": self.num_yielded,
                "fetcher_state": self.fetcher,
                "dataset_state": self.dataset,
                "_iterator_finished": self.has_finished,
                _OURS: {**ours, "base_seed": self.randomness.base_seed},
            }
        snapshot = {
            "_snapshot_step": self.num_yielded,
            "_last_yielded_worker_id": (self.next_worker - 1) % self.facts["num_workers"],
            "_main_snapshot": {
                "_num_workers": self.facts["num_workers"],
                **sampler,
                "_base_seed": self.randomness.base_seed,
            },
            "_worker_snapshots": {
                f"worker_{worker}": state.as_dict(worker)
                for worker, state in enumerate(self.workers)
            },
        }
        pending = [[worker, indices] for worker, indices in self.pending]
        return {
            "_snapshot": snapshot,
            "_steps_since_snapshot": 0,
            "_iterator_finished": self.has_finished,
            _OURS: {**ours, "pending": pending},
        }

    @classmethod
    def from_dict(cls, state: object) -> "LoaderState":
        """Restores the object from a result of `as_dict`.

        Raises:
            ValueError: If the argument is not such a result.
        """
        if not isinstance(state, Mapping) or _OURS not in state:
            got = (
                f"the keys {sorted(map(str, state))}"
                if isinstance(state, Mapping)
                else (type(state).__name__)
            )
            raise ValueError(
                f"load_state_dict: got {got}, expected a result of state_dict() of a "
                "headrace.torch.DataLoader. If it is a whole checkpoint, pass its entry for the "
                "loader."
            )
        ours = state[_OURS]
        if ours["version"] != _VERSION:
            raise ValueError(
                f"load_state_dict: the state has version {ours['version']}, expected {_VERSION}. "
                "Resume with the version of headrace that saved it."
            )
        snapshot = state.get("_snapshot")
        main = state if snapshot is None else snapshot["_main_snapshot"]
        base_seed = ours["base_seed"] if snapshot is None else main["_base_seed"]
        result = cls(
            ours["loader"],
            has_finished=state["_iterator_finished"],
            position=Position(
                main["_sampler_iter_yielded"],
                main["_index_sampler_state"],
                main["_sampler_iter_state"],
            ),
            randomness=EpochRandomness.decoded(base_seed, ours["random"]),
            len_called=main["_IterableDataset_len_called"],
            shared_seed=main["_shared_seed"],
        )
        if snapshot is None:
            return replace(
                result,
                num_yielded=state["_num_yielded"],
                dataset=state["dataset_state"],
                fetcher=state["fetcher_state"],
            )
        num_workers = ours["loader"]["num_workers"]
        workers = snapshot["_worker_snapshots"]
        return replace(
            result,
            num_yielded=snapshot["_snapshot_step"],
            workers=tuple(
                WorkerState.from_dict(workers[f"worker_{worker}"]) for worker in range(len(workers))
            ),
            next_worker=(snapshot["_last_yielded_worker_id"] + 1) % num_workers,
            pending=tuple((worker, indices) for worker, indices in ours["pending"]),
        )

    def check(self, facts: Mapping[str, Any]) -> None:
        """Raises OtherLoaderError unless a loader has the properties in this state."""
        for name, mine in facts.items():
            its = self.facts.get(name)
            if its != mine:
                raise OtherLoaderError(
                    f"load_state_dict: the state was saved with {name}={its!r}, and this loader "
                    f"has {name}={mine!r}. Create the loader as it was when the state was saved."
                )
