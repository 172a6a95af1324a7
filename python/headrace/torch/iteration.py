"""The base class of loader iterations, independent of how batches are fetched."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind
from torch.utils.data.graph_settings import apply_random_seed

from headrace.torch.fetching import load_state
from headrace.torch.indices import Indices, begins_late, finish, stateful_sampler
from headrace.torch.loader_state import EpochRandomness, LoaderState
from headrace.torch.progress import Progress
from headrace.torch.random_states import NO_STATES, RandomStates, generators_state, set_generators

__all__ = ["LoaderIteration"]


class LoaderIteration(_BaseDataLoaderIter):  # type: ignore[misc]
    """One epoch of a loader, or several with persistent workers."""

    _IterableDataset_len_called: int | None
    _shared_seed: int | None
    _dataset: Any

    def _begin_epoch(
        self,
        loader: Any,
        progress: Progress,
        resumed: LoaderState | None,
        opens: Callable[[], None],
    ) -> None:
        """Opens the sampler's iterator, at the position in the loader's state if there is one.

        Args:
            loader: The loader.
            progress: Receives the loop's position.
            resumed: The state, or None for a new epoch.
            opens: A call that opens the iterator, and may draw the base seed, as PyTorch does.
        """
        self._progress = progress
        # The random states for drawing the first index; None to use the process's current states.
        self._drawn_from: RandomStates | None = None
        if resumed is not None:
            resumed.check(progress.facts)
        if resumed is not None and resumed.has_begun:
            self._go_on(loader._index_sampler, resumed, opens)
        else:
            self._begin_new(loader._index_sampler, resumed, opens)
        progress.len_called = self._IterableDataset_len_called
        progress.shared_seed = self._shared_seed

    def _begin_new(
        self, sampler: Any, before: LoaderState | None, opens: Callable[[], None]
    ) -> None:
        progress, other = self._progress, NO_STATES
        if before is not None:
            if before.has_finished and before.position.sampler is not None:
                finish(sampler, before.position.sampler)
            set_generators(progress.generators, before.randomness.start_generators)
            other = before.randomness.start.unlike(RandomStates.current())
        none: AbstractContextManager[list[RandomStates]] = nullcontext([])
        with other.borrowed() if other else none as after:
            progress.begin_epoch()
            opens()
            if before is not None and before.has_finished and self._keeps_workers:
                # If the workers of the previous epoch are kept, PyTorch draws no new seed.
                progress.start.start.set()
                set_generators(progress.generators, progress.start.start_generators)
                self._base_seed = before.randomness.base_seed
                self._sampler_iter = iter(sampler)
        self._indices = Indices(sampler, self._sampler_iter)
        self._drawn_from = after[0] if after else None

    def _go_on(self, sampler: Any, resumed: LoaderState, opens: Callable[[], None]) -> None:
        progress, randomness = self._progress, resumed.randomness
        load_state(stateful_sampler(sampler), resumed.position.sampler)
        set_generators(progress.generators, randomness.start_generators)
        with randomness.start.borrowed():
            opens()
        set_generators(progress.generators, randomness.first_generators)
        self._base_seed = randomness.base_seed
        if resumed.shared_seed is not None:
            self._shared_seed = resumed.shared_seed
            generator = torch.Generator().manual_seed(resumed.shared_seed)
            self._dataset = apply_random_seed(self._dataset, generator)
        progress.go_on(resumed)
        self._indices = Indices(sampler, self._sampler_iter)
        if self._dataset_kind == _DatasetKind.Iterable:
            self._indices.count_on(resumed.position.num_batches)
        elif resumed.position.num_batches:
            with randomness.first.borrowed():
                self._indices.go_to(resumed.position)
        else:
            self._drawn_from = randomness.first or None
        self._num_yielded = resumed.num_yielded
        if self._IterableDataset_len_called is None:
            self._IterableDataset_len_called = resumed.len_called

    def _next_index(self) -> Any:
        if self._progress.randomness is None:
            return self._first_index()
        if self._drawn_from is not None:
            drawn_from, self._drawn_from = self._drawn_from, None
            with drawn_from.borrowed():
                return next(self._indices)
        return next(self._indices)

    def _first_index(self) -> Any:
        """Draws the first index, and keeps the states from which it was drawn."""
        progress, drawn_from = self._progress, self._drawn_from
        self._drawn_from = None
        with drawn_from.borrowed() if drawn_from else nullcontext():
            first, generators = RandomStates.current(), generators_state(progress.generators)
            try:
                return next(self._indices)
            finally:
                is_late = begins_late(self._index_sampler)
                progress.randomness = replace(
                    EpochRandomness() if is_late else progress.start,
                    base_seed=self._base_seed,
                    first=first if self._replays else first.unlike(RandomStates.current()),
                    first_generators=generators,
                )

    # Whether resuming fetches the samples before the position again, in this process.
    _replays = False
    # Whether the workers of an epoch are kept for the next one.
    _keeps_workers = False
