"""Fetches a dataset's batches: reads the samples one by one, then calls `collate_fn`."""

import copy
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.torch.failing_samples import name_samples, of_item, of_sample, of_samples

__all__ = [
    "Batch",
    "Fetcher",
    "IterableFetcher",
    "MapFetcher",
    "Stopped",
    "fetcher_of",
    "is_stateful",
    "load_state",
    "state_of",
]

# A function that is called before each sample with its position in the batch, and returns whether
# fetching must stop.
Begin: TypeAlias = Callable[[int], bool]


class Batch(NamedTuple):
    """A batch, and how long it took.

    Attributes:
        data: The result of `collate_fn`.
        fetch_seconds: The seconds spent in the dataset.
        collate_seconds: The seconds spent in `collate_fn`.
    """

    data: Any
    fetch_seconds: float
    collate_seconds: float


class Stopped(Exception):
    """Raised to stop fetching a batch that is no longer needed."""


def is_stateful(value: object) -> bool:
    """Returns whether an object has the methods `state_dict` and `load_state_dict`."""
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


def state_of(value: Any) -> Any:
    """Returns a copy of an object's state, or None if it has none."""
    return copy.deepcopy(value.state_dict()) if is_stateful(value) else None


def load_state(value: Any, state: Any) -> None:
    """Loads a copy of a state into an object, if there is a state."""
    if state is not None and is_stateful(value):
        value.load_state_dict(copy.deepcopy(state))


class MapFetcher:
    """Fetches the batches of a map-style dataset. Several threads can use it."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Any, begin: Begin | None
    ) -> None:
        self._dataset: Final = dataset
        self._auto_collation: Final = auto_collation
        self._collate_fn: Final = collate_fn
        self._begin: Final = begin

    def fetch(self, index: Any) -> Batch:
        """Returns the batch with these indices, or the sample with this index."""
        began = time.perf_counter()
        data = self._batch(index) if self._auto_collation else self._sample(index, 0)
        fetched = time.perf_counter()
        try:
            result = self._collate_fn(data)
        except StopIteration:
            raise
        except Exception as error:
            name_samples(
                error, of_samples(index) if self._auto_collation else of_sample(index, None)
            )
            raise
        return Batch(result, fetched - began, time.perf_counter() - fetched)

    def _batch(self, indices: Any) -> Any:
        if getattr(self._dataset, "__getitems__", None):
            if self._begin is not None and self._begin(0):
                raise Stopped
            try:
                return self._dataset.__getitems__(indices)
            except StopIteration:
                raise
            except Exception as error:
                name_samples(error, of_samples(indices))
                raise
        return [self._sample(index, place) for place, index in enumerate(indices)]

    def _sample(self, index: Any, place: int) -> Any:
        if self._begin is not None and self._begin(place):
            raise Stopped
        try:
            return self._dataset[index]
        except StopIteration:
            raise
        except Exception as error:
            name_samples(error, of_sample(index, self._dataset, error))
            raise


class IterableFetcher:
    """Fetches the batches of an iterable-style dataset.

    Attributes:
        dataset_iter: The iterator.
        has_ended: Whether the iterator has ended.
    """

    def __init__(
        self,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Any,
        drop_last: bool,
        begin: Begin | None,
    ) -> None:
        self.dataset_iter: Final = iter(dataset)
        self.has_ended = False
        self._auto_collation: Final = auto_collation
        self._collate_fn: Final = collate_fn
        self._drop_last: Final = drop_last
        self._begin: Final = begin
        self._number = 0
        self._ahead: list[Any] = []

    def fetch(self, index: Any) -> Batch:
        """Returns the next batch, with one sample per index.

        Raises:
            StopIteration: If there are no more batches.
        """
        began = time.perf_counter()
        first = self._number
        data = self._next(index)
        fetched = time.perf_counter()
        try:
            result = self._collate_fn(data)
        except StopIteration:
            raise
        except Exception as error:
            name_samples(error, f"items {first} to {self._number - 1}, counted from 0")
            raise
        return Batch(result, fetched - began, time.perf_counter() - fetched)

    def skip(self, index: Any) -> None:
        """Skips a batch."""
        self._next(index)

    def state(self) -> dict[str, Any]:
        """Returns the position: the iterator's state, if it has one, and whether it has ended."""
        return {"dataset_iter_state": state_of(self.dataset_iter), "fetcher_ended": self.has_ended}

    def load(self, state: dict[str, Any]) -> None:
        """Continues from a result of `state`."""
        if state["fetcher_ended"]:
            self.finish(state)
            self.has_ended = True
        else:
            load_state(self.dataset_iter, state["dataset_iter_state"])

    def finish(self, state: dict[str, Any] | None) -> bool:
        """Loads a state that was saved at the end of an epoch.

        Returns: True if the iterator is still at its end, so the dataset must create a new one.
            Some datasets move on to the next epoch as soon as one ends.
        """
        load_state(self.dataset_iter, None if state is None else state["dataset_iter_state"])
        try:
            self._ahead.append(next(self.dataset_iter))
        except StopIteration:
            return True
        return False

    def _next(self, index: Any) -> Any:
        if self.has_ended:
            raise StopIteration
        if not self._auto_collation:
            return self._item()
        data = []
        for _ in index:
            try:
                data.append(self._item())
            except StopIteration:
                self.has_ended = True
                break
        if not data or (self._drop_last and len(data) < len(index)):
            raise StopIteration
        return data

    def _item(self) -> Any:
        if self._begin is not None and self._begin(self._number):
            raise Stopped
        try:
            item = self._ahead.pop() if self._ahead else next(self.dataset_iter)
        except StopIteration:
            raise
        except Exception as error:
            name_samples(error, of_item(self._number))
            raise
        self._number += 1
        return item


Fetcher: TypeAlias = MapFetcher | IterableFetcher


def fetcher_of(
    is_iterable: bool,
    dataset: Any,
    auto_collation: bool,
    collate_fn: Any,
    drop_last: bool,
    begin: Begin | None = None,
) -> Fetcher:
    """Returns the fetcher for a dataset."""
    if is_iterable:
        return IterableFetcher(dataset, auto_collation, collate_fn, drop_last, begin)
    return MapFetcher(dataset, auto_collation, collate_fn, begin)
