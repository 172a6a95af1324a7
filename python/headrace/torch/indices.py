"""An epoch's batch indices, in sampler order."""

import inspect
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import torch.utils.data

from headrace.torch.fetching import is_stateful, load_state, state_of

__all__ = ["BEGINNING", "Indices", "Position", "begins_late", "finish", "stateful_sampler"]


class Position(NamedTuple):
    """A position in the indices of an epoch.

    Attributes:
        num_batches: The number of batches before the position.
        sampler: The state of the sampler, or None if it has none.
        iterator: The state of the sampler's iterator, or None if it has none.
    """

    num_batches: int = 0
    sampler: Any = None
    iterator: Any = None


BEGINNING: Final = Position()


class Indices:
    """One epoch's batch indices.

    Args:
        sampler: The sampler of the loader: of batches, or of single samples.
        iterator: The sampler's iterator. Nothing has been taken from it yet.
    """

    def __init__(self, sampler: Any, iterator: Iterator[Any]) -> None:
        self._sampler: Final = sampler
        self._is_plain: Final = type(sampler) is torch.utils.data.BatchSampler
        # The iterator with the sampler's own state. For PyTorch's batch sampler, it is the inner
        # iterator.
        self._inner: Iterator[Any] | None = None if self._is_plain else iterator
        self._iterator: Final = self._batches() if self._is_plain else iterator
        self._num_batches = 0

    def __iter__(self) -> "Indices":
        return self

    def __next__(self) -> Any:
        index = next(self._iterator)
        self._num_batches += 1
        return index

    def position(self) -> Position:
        """Returns the position before the next indices."""
        sampler = stateful_sampler(self._sampler)
        iterator = None if sampler is not None else state_of(self._inner)
        return Position(self._num_batches, state_of(sampler), iterator)

    def count_on(self, num_batches: int) -> None:
        """Sets the number of batches before the next indices, without reading the sampler."""
        self._num_batches = num_batches

    def go_to(self, position: Position) -> None:
        """Continues from a position in the sampler's epoch, without reading samples.

        Raises:
            ValueError: If the sampler has fewer indices.
        """
        number = self._num_batches = position.num_batches
        if position.sampler is not None:
            return  # The state was loaded before the iterator was created.
        if position.iterator is not None:
            load_state(self._opened(), position.iterator)
            return
        size = self._sampler.batch_size if self._is_plain else 1
        skipped = itertools.islice(self._opened(), number * size)
        if (count := sum(1 for _ in skipped)) < number * size and -(-count // size) < number:
            raise ValueError(
                f"load_state_dict: the state is after batch {number}, and the sampler yields "
                f"indices for {-(-count // size)}. Use the dataset and the sampler of the state."
            )

    def _opened(self) -> Iterator[Any]:
        if self._inner is None:
            self._inner = iter(self._sampler.sampler)
        return self._inner

    def _batches(self) -> Iterator[list[Any]]:
        """Yields batches like PyTorch's `BatchSampler`, but keeps the inner iterator accessible."""
        size = self._sampler.batch_size
        iterator = self._opened()
        while batch := list(itertools.islice(iterator, size)):
            if len(batch) < size and self._sampler.drop_last:
                return
            yield batch


def stateful_sampler(sampler: Any) -> Any:
    """Returns the sampler that has a state: the batch sampler, its inner sampler, or None."""
    if is_stateful(sampler):
        return sampler
    inner = getattr(sampler, "sampler", None)
    return inner if is_stateful(inner) else None


def begins_late(sampler: Any) -> bool:
    """Returns whether a sampler draws random numbers only in the first `next`, not in `iter`."""
    return type(sampler) is torch.utils.data.BatchSampler or inspect.isgeneratorfunction(
        getattr(type(sampler), "__iter__", None)
    )


def finish(sampler: Any, state: Any) -> None:
    """Advances a sampler from the end of an epoch to the beginning of the next one."""
    load_state(stateful_sampler(sampler), state)
    for _ in iter(sampler):
        pass
