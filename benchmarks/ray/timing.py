"""The times of batches, through readers or not."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import headrace as hr
import headrace.ray as hray

__all__ = ["Timed", "through_ray", "timed"]


class Timed(NamedTuple):
    """The time of an iteration.

    Attributes:
        first_s: The seconds to the first batch.
        rest_s: The seconds for all others.
        count: How many examples those others had.
    """

    first_s: float
    rest_s: float
    count: int

    @property
    def rate(self) -> float:
        """Examples a second, after the first batch."""
        return self.count / self.rest_s


def timed(batches: Iterator[dict[str, Any]], name: str) -> Timed:
    """Iterates to the end, and counts the examples of one component."""
    begin = time.monotonic()
    next(batches)
    first = time.monotonic()
    count = sum(len(batch[name]) for batch in batches)
    return Timed(first - begin, time.monotonic() - first, count)


def through_ray(
    pipe: hr.Pipeline,
    num_readers: int,
    cpus: float,
    converted: Callable[[Iterable[dict[str, Any]]], Iterator[dict[str, Any]]] = iter,
) -> Timed:
    """Reads through readers, which stand already; `converted` makes something of the batches."""
    with hray.serve(pipe, num_readers=num_readers, cpus_per_reader=cpus) as feed:
        begun = feed.batches(credit_bytes=0)
        next(begun)  # The readers run.
        begun.close()
        return timed(converted(feed.batches()), next(iter(pipe.spec)))
