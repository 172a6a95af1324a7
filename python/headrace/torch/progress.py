"""The position of a loop over a loader. It outlives the iteration."""

from collections.abc import Callable
from typing import Any, Final

from headrace.torch.indices import BEGINNING
from headrace.torch.loader_state import EpochRandomness, LoaderState, WorkerState
from headrace.torch.loader_times import LoaderTimes
from headrace.torch.random_states import RandomStates, generators_of, generators_state

__all__ = ["Progress"]


class Progress:
    """The position of the loop that received a batch most recently.

    Only the iteration writes it, and only the loader reads it. It does not keep workers alive.

    Attributes:
        facts: The properties that must match between a state and its loader.
        generators: The random generators of the loader and of its samplers.
        start: The random states at the beginning of the epoch.
        randomness: The random states from which the epoch's indices are drawn, or None before the
            first index.
        position: The position in the sampler's indices.
        num_yielded: The number of batches that the loop received.
        has_finished: Whether the epoch has ended.
        len_called: See `LoaderState`.
        local_states: Returns the states of the dataset and of its iterator in this process.
        workers: The states of worker processes.
        next_worker: The worker that produces the next batch.
        pending: See `LoaderState`.
        shared_seed: See `LoaderState`.
        times: The time spent in the loop and in the dataset.
    """

    def __init__(self, loader: Any) -> None:
        self.facts: Final = _facts_of(loader)
        self.generators: Final = generators_of(loader.generator, loader._index_sampler)
        self.local_states: Callable[[], tuple[Any, dict[str, Any] | None]] = lambda: (None, None)
        self.times: Final = LoaderTimes(loader)
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Records that nothing has been drawn yet in a new epoch."""
        self.start = EpochRandomness(
            start=RandomStates.current(), start_generators=generators_state(self.generators)
        )
        self.randomness: EpochRandomness | None = None
        self.position = BEGINNING
        self.num_yielded = 0
        self.has_finished = False
        self.len_called: int | None = None
        self.workers: list[WorkerState] = []
        self.next_worker = 0
        self.pending: tuple[tuple[int, Any], ...] = ()
        self.shared_seed: int | None = None

    def go_on(self, resumed: LoaderState) -> None:
        """Continues from a state within an epoch."""
        self.begin_epoch()
        self.randomness = resumed.randomness
        self.position, self.num_yielded = resumed.position, resumed.num_yielded
        self.workers = list(resumed.workers)
        self.next_worker, self.pending = resumed.next_worker, resumed.pending

    def state(self) -> LoaderState:
        """Returns the state of the loader."""
        if self.has_finished:
            randomness = EpochRandomness(
                None if self.randomness is None else self.randomness.base_seed,
                RandomStates.current(),
                start_generators=generators_state(self.generators),
            )
        else:
            randomness = self.randomness or self.start
        dataset, fetcher = self.local_states()
        return LoaderState(
            self.facts,
            self.num_yielded,
            self.has_finished,
            self.position,
            randomness,
            self.len_called,
            dataset,
            fetcher,
            tuple(self.workers),
            self.next_worker,
            self.pending,
            self.shared_seed,
        )


def _facts_of(loader: Any) -> dict[str, Any]:
    sampler = loader._index_sampler
    inner = getattr(sampler, "sampler", None) if loader._auto_collation else None
    try:
        length = len(sampler)
    except Exception:  # The samplers of iterable-style datasets have no generator.
        length = None
    return {
        "num_workers": loader.num_workers if loader.workers == "processes" else 0,
        "dataset": "iterable" if loader._dataset_kind else "map",
        "batch_size": loader.batch_size,
        "drop_last": loader.drop_last,
        "sampler": type(sampler if inner is None else inner).__name__,
        "batches": length,
    }
