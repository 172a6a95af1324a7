"""Measures a training loop, its dataset and `collate_fn`, and suggests a change."""

import time
from typing import Any, Final

from headrace.core.processors import num_cores

__all__ = ["LoaderTimes"]

# A loop that waits for less than this share of the time is itself the bottleneck.
_LEAST_WAIT: Final = 0.1
# Workers that are busy for more than this share of the time are at their limit.
_MOST_BUSY: Final = 0.8


class LoaderTimes:
    """One loader's timings since its first batch.

    Args:
        loader: The loader.
    """

    def __init__(self, loader: Any) -> None:
        self._workers: Final = loader.workers
        self._num_workers: Final = loader.num_workers
        self._began: float | None = None
        self._ended = 0.0
        self._waited = self._fetched = self._collated = 0.0
        self._num_batches = 0

    def note(self, began: float) -> None:
        """Records a batch for which the loop has waited since `began`."""
        now = time.perf_counter()
        if self._began is None:
            self._began = began
        self._waited += now - began
        self._ended = now
        self._num_batches += 1

    def add(self, fetched: float, collated: float) -> None:
        """Records the time that a batch took in the dataset and in `collate_fn`."""
        self._fetched += fetched
        self._collated += collated

    def bottleneck(self) -> str:
        """Returns a sentence that names the bottleneck and its time share, and suggests a fix."""
        if self._began is None:
            return "nothing has been read yet: try again after some batches"
        seconds = max(self._ended - self._began, 1e-9)
        waited = min(self._waited / seconds, 1.0)
        times = f"the training loop waited {waited:.0%} of the time"
        if waited < _LEAST_WAIT:
            return f"the training loop is the bottleneck; {times}; a faster loader gains little"
        busy = self._fetched + self._collated
        made = busy / self._num_batches * 1e3
        what, remedy = "the dataset", "make __getitem__ faster"
        if self._collated > self._fetched:
            what, remedy = "collate_fn", "make it faster"
        share = max(self._fetched, self._collated) / busy if busy else 0.0
        finding = f"{what} is the bottleneck: {share:.0%} of the {made:.1f} ms that a batch takes"
        where = "in the process of the training loop"
        if self._num_workers:
            load = min(busy / (self._num_workers * seconds), 1.0)
            where = (
                f"in {self._num_workers} {self._workers}, which were busy {load:.0%} of the time"
            )
            if load < _MOST_BUSY and self._num_batches > 2 * self._num_workers:
                finding = "nothing limits alone"
                remedy = "raise prefetch_factor if batches take very different times"
        if self._num_workers < num_cores():
            remedy = f"set num_workers={num_cores()}, or {remedy}"
        return f"{finding} {where}; {times}; {remedy}"
