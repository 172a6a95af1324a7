"""Batches that threads of this process fetch in advance."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import torch
from torch.utils.data import _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from headrace.torch.failing_samples import of_samples
from headrace.torch.fetching import Batch, Fetcher, IterableFetcher, is_stateful, state_of
from headrace.torch.indices import Position
from headrace.torch.iteration import LoaderIteration
from headrace.torch.loader_state import LoaderState
from headrace.torch.local_iteration import open_fetcher, share_datapipe
from headrace.torch.progress import Progress

__all__ = ["ThreadIteration"]


class _Ahead(NamedTuple):
    """A batch that is fetched in advance, with its indices and the position after them."""

    index: Any
    position: Position
    batch: "Future[_Fetched]"


class _Fetched(NamedTuple):
    """A batch, and the dataset and iterator states after it."""

    batch: Batch
    states: tuple[Any, dict[str, Any] | None]


class ThreadIteration(LoaderIteration):
    """An epoch whose batches are fetched by threads, in sampler order.

    A single thread iterates over an iterable-style dataset, or fetches from a dataset with a state.
    """

    def __init__(self, loader: Any, progress: Progress, resumed: LoaderState | None) -> None:
        self._threads: _Threads | None = None
        is_iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._replays = is_iterable
        self._begin_epoch(
            loader, progress, resumed, lambda: _BaseDataLoaderIter.__init__(self, loader)
        )
        self._profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        share_datapipe(self)
        fetcher = open_fetcher(self, resumed)
        progress.local_states = _constant(_states_of(self._dataset, fetcher))
        is_serial = is_iterable or is_stateful(self._dataset)
        device = self._pin_memory_device if self._pin_memory else None
        self._fetch: Final = _fetching(self._dataset, fetcher, device)
        self._num_ahead: Final = loader.prefetch_factor * loader.num_workers
        self._ahead: Final[deque[_Ahead]] = deque()
        self._has_all = False
        self._threads = _Threads(1 if is_serial else loader.num_workers, device)
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Starts fetching further batches."""
        while not self._has_all and len(self._ahead) < self._num_ahead:
            try:
                index = self._next_index()
            except StopIteration:
                self._has_all = True
                return
            assert self._threads is not None
            future = self._threads.submit(self._fetch, index)
            self._ahead.append(_Ahead(index, self._indices.position(), future))

    def _next_data(self) -> Any:
        began = time.perf_counter()
        progress = self._progress
        if not self._ahead:
            self._end()
            raise StopIteration
        ahead = self._ahead[0]
        try:
            fetched = ahead.batch.result(self._timeout or None)
        except StopIteration:
            self._ahead.clear()
            self._has_all = True
            self._end()
            raise
        except TimeoutError:
            if ahead.batch.done():  # The dataset has raised this exception.
                self._ahead.popleft()
                self._look_ahead()
                raise
            raise RuntimeError(
                f"DataLoader timed out after {self._timeout} seconds. A thread is fetching "
                f"{of_samples(ahead.index if self._auto_collation else [ahead.index])}."
            ) from None
        except Exception:
            self._ahead.popleft()
            self._look_ahead()
            raise
        self._ahead.popleft()
        self._look_ahead()
        progress.position = ahead.position
        progress.local_states = _constant(fetched.states)
        progress.num_yielded += 1
        progress.times.add(fetched.batch.fetch_seconds, fetched.batch.collate_seconds)
        progress.times.note(began)
        return fetched.batch.data

    def _end(self) -> None:
        self._progress.has_finished = True
        self._progress.position = self._indices.position()
        self._close()

    def _close(self) -> None:
        if self._threads is not None:
            self._threads.close()

    def __del__(self) -> None:
        self._close()


class _Threads:
    """Threads that make calls. They do not keep the program alive."""

    def __init__(self, number: int, device: str | None) -> None:
        # This is not a `queue.Queue`, because the garbage collector could need its lock a second
        # time.
        self._calls: Final[queue.SimpleQueue[Callable[[], None] | None]] = queue.SimpleQueue()
        self._number = number
        index = None if device is None else torch.accelerator.current_device_index()
        for n in range(number):
            threading.Thread(
                target=_work, args=(self._calls, index), name=f"headrace-loader-{n}", daemon=True
            ).start()

    def submit(self, call: Callable[[Any], _Fetched], index: Any) -> "Future[_Fetched]":
        """Makes a thread call a function."""
        future: Future[_Fetched] = Future()

        def make() -> None:
            try:
                future.set_result(call(index))
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(make)
        return future

    def close(self) -> None:
        """Makes the threads end after their current calls."""
        while self._number:
            try:
                while True:
                    self._calls.get_nowait()
            except queue.Empty:
                pass
            for _ in range(self._number):
                self._calls.put(None)
            self._number = 0


def _work(calls: "queue.SimpleQueue[Callable[[], None] | None]", device: int | None) -> None:
    if device is not None:
        torch.accelerator.set_device_index(device)
    while (call := calls.get()) is not None:
        call()
        del call


def _fetching(dataset: Any, fetcher: Fetcher, device: str | None) -> Callable[[Any], _Fetched]:
    def fetch(index: Any) -> _Fetched:
        batch = fetcher.fetch(index)
        if device is not None:
            data = _utils.pin_memory.pin_memory(batch.data, device)
            batch = batch._replace(data=data)
        return _Fetched(batch, _states_of(dataset, fetcher))

    return fetch


def _states_of(dataset: Any, fetcher: Fetcher) -> tuple[Any, dict[str, Any] | None]:
    if not isinstance(fetcher, IterableFetcher):
        return state_of(dataset), None
    state = fetcher.state()
    return None if fetcher.dataset_iter is dataset else state_of(dataset), state


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
