"""A reader: it produces the requested batches of a pipeline, fastest if they are in order."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.run.reader_shards import Cursor, ShareBatches
from headrace.pipeline.run.skipped import Skipped
from headrace.read_service.window import TOGETHER_S

__all__ = ["BatchReply", "BatchRequest", "Reader", "ReaderReply", "num_bytes_of"]

# While the layout changes, a reader has a share of the old layout and a share of the new one.
_MOST_SHARES: Final = 2


class BatchRequest(NamedTuple):
    """A trainer's request. It contains everything that a stateless reader needs.

    Attributes:
        number: The number of the batch in the common order.
        num_shares: The number of readers that share the batches around this one.
        cursor: A position at or before the batch.
        epoch: The number of the epoch, if the cursor is at the beginning.
        num_skipped: The number of skipped examples known to the trainer.
        trainer: The trainer's name.
    """

    number: int
    num_shares: int
    cursor: Cursor
    epoch: int
    num_skipped: int
    trainer: str = ""


class BatchReply(NamedTuple):
    """A batch, or the end of the order.

    Attributes:
        batch: The components of the batch, or None if the order ends before it.
        num_bytes: The size of the batch in bytes.
        cursor: A position at or before the batch from which the pipeline can resume.
        num_skipped: The number from the `BatchRequest`. The trainer may know of more by now.
        skipped: The examples skipped up to this batch, without the first `num_skipped`.
        working: The share of time that the reader has spent working since the first request.
    """

    batch: dict[str, Any] | None
    num_bytes: int
    cursor: Cursor
    num_skipped: int
    skipped: list[Skipped]
    working: float


class ReaderReply(NamedTuple):
    """A reader's answer to several requests.

    Attributes:
        given: The batches for the first requests, at least one.
        seconds: The time in seconds that it took to produce the batches.
    """

    given: list[BatchReply]
    seconds: float


class _FinishedBatch(NamedTuple):
    """A finished batch that may not have been requested yet."""

    batch: dict[str, Any] | None
    num_bytes: int
    cursor: Cursor
    skipped: list[Skipped]


class Reader:
    """Produces batches of a pipeline. Everything it holds can be produced again after a loss.

    It iterates over the share of batches that contains the requested one. Batches before it are
    parked until another trainer requests them. If there are too many, the oldest are dropped and
    produced again on request.
    """

    def __init__(self, pipe: Pipeline, parked_bytes: int) -> None:
        """Sets the pipeline. Starts no threads.

        Args:
            pipe: A pipeline that has passed `check_shares`.
            parked_bytes: The limit in bytes on parked batches.
        """
        self._pipe = pipe
        self._parked_bytes = parked_bytes
        self._shares: OrderedDict[tuple[int, int, int], ShareBatches] = OrderedDict()
        # The batches by epoch and number.
        self._parked: OrderedDict[tuple[int, int], _FinishedBatch] = OrderedDict()
        self._begin: float | None = None
        self._busy_seconds = 0.0
        #: The number of batches produced.
        self.num_made = 0

    def give(self, ask: BatchRequest) -> BatchReply:
        """Waits for a batch and returns it.

        Raises:
            Exception: The pipeline's exception, if it failed at or before this batch.
        """
        begin = time.monotonic()
        self._begin = self._begin or begin
        try:
            batch = self._parked.pop((ask.epoch, ask.number), None) or self._made(ask)
        finally:
            end = time.monotonic()
            self._busy_seconds += end - begin
        working = self._busy_seconds / max(end - self._begin, 1e-9)
        skipped = batch.skipped[ask.num_skipped :]
        return BatchReply(*batch[:3], ask.num_skipped, skipped, working)

    def give_together(self, asks: Sequence[BatchRequest]) -> ReaderReply:
        """Returns the first requests' batches: at least one, plus any that are quick to produce.

        Batches past the end of the order are omitted. After a few milliseconds, all remaining
        batches are omitted too. If a batch other than the first raises an exception, it and all
        later batches are omitted. The exception is raised once that batch is requested first.

        Raises:
            Exception: An exception that the pipeline raises at or before the first batch.
        """
        begin = time.monotonic()
        replies = [self.give(asks[0])]
        for ask in asks[1:]:
            if replies[-1].batch is None or time.monotonic() - begin > TOGETHER_S:
                break
            try:
                replies.append(self.give(ask))
            except Exception:
                break
        return ReaderReply(replies, time.monotonic() - begin)

    def close(self) -> None:
        """Ends all threads and drops parked batches."""
        for share in self._shares.values():
            share.close()
        self._shares.clear()
        self._parked.clear()

    def _made(self, ask: BatchRequest) -> _FinishedBatch:
        key = (ask.epoch, ask.num_shares, ask.number % ask.num_shares)
        share = self._shares.get(key)
        if share is None or share.next_number > ask.number:
            self._open(key, ask)
        share = self._shares[key]
        self._shares.move_to_end(key)
        try:
            while True:
                number, batch = share.next_number, self._next(share)
                if number == ask.number or batch.batch is None:
                    return batch
                self._park((ask.epoch, number), batch)
        except BaseException:
            del self._shares[key]
            share.close()
            raise

    def _open(self, key: tuple[int, int, int], ask: BatchRequest) -> None:
        if (old := self._shares.pop(key, None)) is not None:
            old.close()
        while len(self._shares) >= _MOST_SHARES:
            self._shares.popitem(last=False)[1].close()
        index = (ask.number - ask.cursor.first) % ask.num_shares
        self._shares[key] = ShareBatches(self._pipe, index, ask.num_shares, ask.epoch, ask.cursor)

    def _next(self, share: ShareBatches) -> _FinishedBatch:
        cursor = share.cursor()
        batch = next(share, None)
        skipped = share.batches.skipped
        if batch is None:
            return _FinishedBatch(None, 0, cursor, skipped)
        self.num_made += 1
        return _FinishedBatch(batch, num_bytes_of(batch), cursor, skipped)

    def _park(self, key: tuple[int, int], batch: _FinishedBatch) -> None:
        self._parked[key] = batch
        held = sum(parked.num_bytes for parked in self._parked.values())
        while held > self._parked_bytes:
            held -= self._parked.popitem(last=False)[1].num_bytes


def num_bytes_of(batch: dict[str, Any]) -> int:
    """Returns the size of a batch in bytes. Strings count without their Python objects."""
    return sum(_num_bytes(component) for component in batch.values())


def _num_bytes(component: Any) -> int:
    if isinstance(component, (list, tuple)):
        return sum(map(_num_bytes, component))
    if isinstance(component, (str, bytes)):
        return len(component)
    if isinstance(component, np.ndarray) and component.dtype == object:
        return sum(map(len, component.ravel()))
    return int(component.nbytes)
