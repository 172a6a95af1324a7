"""A trainer's batches, produced by readers in other processes."""

import logging
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NamedTuple

import ray

from headrace.core.errors import UnavailableError
from headrace.pipeline.run.reader_shards import BEGINNING, Cursor
from headrace.pipeline.run.skipped import Skipped
from headrace.pipeline.run.state import check_state
from headrace.ray.actors import Report, ServiceLayout
from headrace.ray.answers import answer_of
from headrace.ray.strings import as_asked
from headrace.read_service import BatchReply, BatchRequest, Window

__all__ = ["FeedBatches", "FeedStatistics", "Part"]

_LOG: Final = logging.getLogger("headrace.ray")
_VERSION: Final = 1
_KEYS: Final = {"version", "next", "first", "epoch", "pipeline"}
# The number of seconds between a trainer's reports, and the maximum number of reports that the head
# receives per second.
_REPORTS_S: Final = 1.0
_MOST_REPORTS: Final = 100


class Part(NamedTuple):
    """The part of the batches that a trainer receives, and how it receives them.

    Attributes:
        rank: The number of the trainer, from 0.
        world: The number of trainers.
        epoch: The number of the epoch to start.
        credit_bytes: The limit in bytes on the trainer's requested batches.
        is_copied: Whether arrays are copied out of the object store and are writable.
        has_arrow_strings: Whether strings remain Arrow arrays.
        patience_s: The time in seconds after which the head checks on a reader.
    """

    rank: int
    world: int
    epoch: int
    credit_bytes: int
    is_copied: bool
    has_arrow_strings: bool
    patience_s: float


@dataclass(frozen=True)
class FeedStatistics:
    """The measurements of one trainer since it started.

    Attributes:
        seconds: The time in seconds since the trainer started.
        batches: The number of batches received.
        bytes: The total size of these batches.
        waiting_seconds: The total time spent waiting for batches.
        longest_wait_seconds: The longest wait for a batch other than the first.
        asked_again: The number of batches requested again because their reader or node was lost.
    """

    seconds: float = 0.0
    batches: int = 0
    bytes: int = 0
    waiting_seconds: float = 0.0
    longest_wait_seconds: float = 0.0
    asked_again: int = 0


class _PendingRequest(NamedTuple):
    """A requested batch.

    Attributes:
        reader: The name of the reader.
        answer: The reference to the `ReaderReply`. The reply may contain several batches.
        position: The position of the batch in the reply.
    """

    reader: str
    answer: Any
    position: int


class FeedBatches:
    """The batches of one trainer, in the same order as on one machine.

    Batches are requested ahead, up to `credit_bytes`, and small batches are sent together. Arrays
    are in Ray's object store and read-only, unless you requested copies. They exist as long as your
    program refers to them. Only one thread may use an iteration at a time.
    """

    def __init__(self, head: Any, part: Part, state: Mapping[str, Any] | None) -> None:
        """Requests the first batches."""
        next_number, self._epoch, self._cursor = _begun(state, part.epoch)
        self._head = head
        self._part = part
        first = next_number + part.rank
        self._taken = next_number
        self._window: Window[_PendingRequest] = Window(first, part.world, part.credit_bytes)
        self._skipped: list[Skipped] = []
        self._name = f"trainer-{part.rank}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._working: dict[str, float] = {}
        self._begin = self._reported_at = time.monotonic()
        self._reported_waiting = 0.0
        self._waiting = self._longest = 0.0
        self._num_batches = self._num_bytes = self._num_again = 0
        self._answer: Any = None
        # The last answer, and its batches.
        self._came: tuple[Any, list[BatchReply]] = None, []
        self._is_over = False
        node = str(ray.get_runtime_context().get_node_id())
        # The layout version and the waiting time do not matter yet.
        report = self._report(0.0, 0.0, -1)
        self._known: ServiceLayout = answer_of("batches", head.join.remote(node, report))
        self._ask_ahead()

    def __iter__(self) -> "FeedBatches":
        return self

    def __next__(self) -> dict[str, Any]:
        if self._is_over:
            raise StopIteration
        begin = time.monotonic()
        try:
            reply = self._next_given()
        except BaseException:
            self.close()
            raise
        waited = time.monotonic() - begin
        if reply.batch is None:
            self._note_skipped(reply)
            self.close()
            raise StopIteration
        self._note(reply, waited)
        self._ask_ahead()
        return as_asked(reply.batch, self._part.has_arrow_strings, self._part.is_copied)

    def _next_given(self) -> BatchReply:
        """Returns the next batch, even if readers are lost."""
        number = self._window.next_number
        while True:
            reader, answer, position = self._window.under_way[number]
            if self._came[0] is answer:
                replies = self._came[1]
                if position + 1 == len(replies):
                    self._came = None, []  # From now on, only the program holds the last batch.
                if position < len(replies):
                    return replies[position]
                # The reader has omitted the batch.
                self._ask_again(answer)
                continue
            ready, _ = ray.wait([answer], timeout=self._part.patience_s)
            if not ready:
                asked = self._head.missing.remote(reader, self._report_now())
                self._learn(answer_of("batches", asked))
                continue
            try:
                replies, seconds = ray.get(answer)
                self._came = answer, replies
                self._window.came(len(replies), seconds)
            except ray.exceptions.RayTaskError as error:
                # Raise the pipeline's own exception, as a run on one machine would.
                raise (error.cause or error) from None
            except ray.exceptions.RayError as error:
                _LOG.warning("batch %d of %s is requested again: %s", number, reader, error)
                asked = self._head.told.remote(self._report_now())
                self._learn(answer_of("batches", asked))
                if self._window.under_way[number].answer is answer:
                    self._num_again += self._ask_again(answer)

    def _learn(self, layout_reply: ServiceLayout) -> None:
        """Sets a new layout. Batches of lost readers are requested from other readers."""
        self._known = layout_reply
        lost = {
            id(asked.answer): asked.answer
            for asked in self._window.under_way.values()
            if asked.reader not in layout_reply.readers
        }
        self._num_again += sum(map(self._ask_again, lost.values()))

    def _numbers_of(self, answer: Any) -> list[int]:
        """Returns the numbers of the batches in a request that have not been taken yet."""
        return [
            number for number, asked in self._window.under_way.items() if asked.answer is answer
        ]

    def _ask_again(self, answer: Any) -> int:
        """Repeats the request for batches that have not been taken. Returns their number."""
        numbers = self._numbers_of(answer)
        self._ask(numbers)
        return len(numbers)

    def _ask(self, numbers: list[int]) -> None:
        """Requests each batch from its reader. Small batches share a request."""
        layout, readers = self._known
        together = self._window.together(len(layout.readers))
        asks: dict[str, list[BatchRequest]] = {}
        for number in numbers:
            count = layout.count_of(number)
            ask = BatchRequest(
                number, count, self._cursor, self._epoch, len(self._skipped), self._name
            )
            asks.setdefault(layout.reader_of(number), []).append(ask)
        requests = [
            (reader, asks[reader][first : first + together])
            for reader in asks
            for first in range(0, len(asks[reader]), together)
        ]
        handles = {}
        for reader, request in requests:
            answer = readers[reader].give.remote(request)
            for position, ask in enumerate(request):
                handles[ask.number] = _PendingRequest(reader, answer, position)
        for number in numbers:
            self._window.asked(number, handles[number])

    def _ask_ahead(self) -> None:
        self._ask(self._window.to_ask(len(self._known.layout.readers)))

    def _note(self, reply: BatchReply, waited: float) -> None:
        reader = self._window.under_way[self._window.next_number].reader
        self._working[reader] = reply.working
        self._window.take(reply.num_bytes)
        self._taken += self._part.world
        self._cursor = reply.cursor
        self._note_skipped(reply)
        self._waiting += waited
        self._longest = max(self._longest, waited if self._num_batches else 0.0)
        self._num_batches += 1
        self._num_bytes += reply.num_bytes
        self._talk()

    def _note_skipped(self, reply: BatchReply) -> None:
        """Adds the skipped examples in a reply that are not known yet."""
        self._skipped.extend(reply.skipped[len(self._skipped) - reply.num_skipped :])

    def _talk(self) -> None:
        """Reports to the head now and then, and receives changes to the layout."""
        if self._answer is not None:
            ready, _ = ray.wait([self._answer], timeout=0)
            if not ready:
                return
            answer, self._answer = self._answer, None
            try:
                layout = answer_of("batches", answer)
            except UnavailableError:
                # The batch just taken is fine. The next batch, which is missing, will raise this
                # error.
                return
            if layout is not None:
                self._learn(layout)
        now = time.monotonic()
        often = max(_REPORTS_S, self._part.world / _MOST_REPORTS)
        if (seconds := now - self._reported_at) >= often:
            waiting = min((self._waiting - self._reported_waiting) / seconds, 1.0)
            report = self._report(seconds, waiting, self._known.layout.version)
            self._answer = self._head.report.remote(report)
            self._reported_at, self._reported_waiting = now, self._waiting

    def _report_now(self) -> Report:
        return self._report(time.monotonic() - self._begin, 1.0, self._known.layout.version)

    def _report(self, seconds: float, waiting: float, version: int) -> Report:
        oldest, end = self._window.next_number, self._window.end
        return Report(
            *(self._name, self._part.rank, self._part.world, version, oldest, end),
            *(seconds, waiting, dict(self._working)),
        )

    def state(self) -> dict[str, Any]:
        """Returns all trainers' position after as many batches as this trainer has received.

        The state contains only data that `json` can serialise. You can resume from it with a
        different number of trainers or readers. You can also call this method after `close`.
        """
        cursor = self._cursor
        return {
            "version": _VERSION,
            "next": self._taken,
            "first": cursor.first,
            "epoch": self._epoch,
            "pipeline": cursor.state,
        }

    @property
    def skipped(self) -> list[Skipped]:
        """The examples that `skip_errors` has skipped so far, in order.

        You can also read it after `close`.
        """
        return list(self._skipped)

    def statistics(self) -> FeedStatistics:
        """Returns the measurements so far."""
        seconds = time.monotonic() - self._begin
        counts = self._num_batches, self._num_bytes
        return FeedStatistics(seconds, *counts, self._waiting, self._longest, self._num_again)

    def close(self) -> None:
        """Stops requesting batches and drops the requested ones. The readers keep running."""
        if not self._is_over:
            self._is_over = True
            # Requests waiting at readers are answered without producing batches. A cancelled call
            # would delay the calls after it, because an actor waits half a minute for each call
            # number.
            for name in {asked.reader for asked in self._window.under_way.values()}:
                if (reader := self._known.readers.get(name)) is not None:
                    reader.forget.options(concurrency_group="questions").remote(self._name)
            self._window.under_way.clear()
            self._answer = None
            self._head.leave.remote(self._name)

    def __enter__(self) -> "FeedBatches":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _begun(state: Mapping[str, Any] | None, epoch: int) -> tuple[int, int, Cursor]:
    """Returns the index of the trainers' first batch, its epoch, and a position before it."""
    if state is None:
        return 0, epoch, BEGINNING
    if not isinstance(state, Mapping) or set(state) != _KEYS:
        raise ValueError(
            "batches: the state does not come from FeedBatches.state(). If it was saved by an "
            "iteration without readers, pass it to Pipeline.resume."
        )
    if state["version"] != _VERSION:
        raise ValueError(
            f"batches: the state has version {state['version']}, expected {_VERSION}. Use the "
            "version of headrace that saved it."
        )
    if state["pipeline"] is not None:
        check_state(state["pipeline"])
    return state["next"], state["epoch"], Cursor(state["first"], state["pipeline"])
