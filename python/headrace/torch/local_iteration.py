"""An iteration whose batches this process fetches on request."""

import time
from contextlib import nullcontext
from typing import Any

from torch.utils.data import _utils
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _SingleProcessDataLoaderIter,
)
from torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from torch.utils.data.graph_settings import apply_sharding

from headrace.torch.fetching import (
    Fetcher,
    IterableFetcher,
    fetcher_of,
    is_stateful,
    load_state,
    state_of,
)
from headrace.torch.iteration import LoaderIteration
from headrace.torch.loader_state import LoaderState
from headrace.torch.progress import Progress

__all__ = ["LocalIteration", "open_fetcher", "share_datapipe"]


class LocalIteration(LoaderIteration, _SingleProcessDataLoaderIter):  # type: ignore[misc]
    """An epoch whose batches are fetched one at a time, as with `num_workers=0`."""

    def __init__(self, loader: Any, progress: Progress, resumed: LoaderState | None) -> None:
        self._replays = loader._dataset_kind == _DatasetKind.Iterable
        self._begin_epoch(
            loader, progress, resumed, lambda: _BaseDataLoaderIter.__init__(self, loader)
        )
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._profile_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        share_datapipe(self)
        self._fetcher = open_fetcher(self, resumed)
        progress.local_states = _states_of(loader.dataset, self._fetcher)

    def _next_data(self) -> Any:
        began = time.perf_counter()
        progress = self._progress
        try:
            batch = self._fetcher.fetch(self._next_index())
        except StopIteration:
            progress.has_finished = True
            progress.position = self._indices.position()
            raise
        data = batch.data
        if self._pin_memory:
            data = _utils.pin_memory.pin_memory(data, self._pin_memory_device)
        progress.position = self._indices.position()
        progress.num_yielded += 1
        progress.times.add(batch.fetch_seconds, batch.collate_seconds)
        progress.times.note(began)
        return data


def share_datapipe(iteration: Any) -> None:
    """Shards a DataPipe across the processes of a distributed program, as PyTorch does."""
    if isinstance(iteration._dataset, (IterDataPipe, MapDataPipe)):
        apply_sharding(iteration._dataset, iteration._world_size, iteration._rank)


def open_fetcher(iteration: Any, resumed: LoaderState | None) -> Fetcher:
    """Returns this process's fetcher, at the position in the loader's state.

    An iterator without a state is replayed.
    """
    dataset = iteration._dataset
    is_resumed = resumed is not None and resumed.has_begun
    if resumed is not None:
        load_state(dataset, resumed.dataset)
    replayed = None
    if resumed is not None and is_resumed and iteration._replays and resumed.dataset is None:
        replayed = resumed.randomness.first
    with nullcontext() if replayed is None else replayed.borrowed():
        fetcher = fetcher_of(
            iteration._dataset_kind == _DatasetKind.Iterable,
            dataset,
            iteration._auto_collation,
            iteration._collate_fn,
            iteration._drop_last,
        )
        if resumed is None or not isinstance(fetcher, IterableFetcher):
            return fetcher
        if resumed.has_finished and _keeps_state(resumed) and fetcher.finish(resumed.fetcher):
            return open_fetcher(iteration, None)
        if not is_resumed:
            return fetcher
        state = resumed.fetcher or {"dataset_iter_state": None, "fetcher_ended": False}
        if resumed.dataset is not None or state["dataset_iter_state"] is not None:
            fetcher.load(state)
        else:
            for _ in range(resumed.num_yielded):
                fetcher.skip(iteration._next_index())
            iteration._indices.count_on(resumed.position.num_batches)
    return fetcher


def _keeps_state(state: LoaderState) -> bool:
    """Returns whether a dataset or its iterator has saved a state."""
    has_iterator = state.fetcher is not None and state.fetcher["dataset_iter_state"] is not None
    return state.dataset is not None or has_iterator


def _states_of(dataset: Any, fetcher: Fetcher) -> Any:
    """Returns a function that returns the states of a dataset and its iterator.

    It does not keep an iterator without a state alive.
    """
    if not isinstance(fetcher, IterableFetcher):
        return lambda: (state_of(dataset), None)
    if fetcher.dataset_iter is dataset:
        return lambda: (None, fetcher.state())
    if is_stateful(fetcher.dataset_iter) or is_stateful(dataset):
        return lambda: (state_of(dataset), fetcher.state())
    return lambda: (None, {"dataset_iter_state": None, "fetcher_ended": False})
