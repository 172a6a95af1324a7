"""A rank that receives its batches from the owner of the node's engine."""

import contextlib
import logging
import os
import threading
import time
import weakref
from collections import deque
from typing import Any, Final, NamedTuple

from headrace.core import engine
from headrace.core.errors import FailedPreconditionError
from headrace.core.wait_registry import RegisteredWait
from headrace.pipeline.run.node.engine_lanes import EngineDescription
from headrace.pipeline.run.node.local_ranks import LocalRanks, bound_socket, connected, shard_of
from headrace.pipeline.run.node.messages import (
    Begun,
    EngineFailure,
    Failed,
    Join,
    Later,
    NodeSkip,
    Place,
    Produced,
    ReadingsMessage,
    StageNumbers,
    Stalled,
    Taken,
)
from headrace.pipeline.run.node.own_channel import NodeChannel
from headrace.pipeline.run.node.owner import Owner
from headrace.pipeline.run.node.pass_end import NodePassEnd
from headrace.pipeline.workers.messages import Channel
from headrace.pipeline.workers.shared_segments import FilledSegments

__all__ = ["MemberExecution"]

_log: Final = logging.getLogger("headrace.pipeline")

# How long to wait before the next attempt to reach an owner that is about to start.
_RETRY_S: Final = 0.002
# How many batches the program may keep without a copy.
_MOST_KEPT: Final = 64


class _Received(NamedTuple):
    """A batch or an end that the program has not taken yet, with the segments that contain it."""

    produced: Produced
    segments: FilledSegments
    channel: NodeChannel


class _MemberState(NamedTuple):
    """The state of an iteration; see `engine.ExecutionState`."""

    is_over: bool


class _Exchange:
    """The state shared by the program and the receiving thread.

    Attributes:
        changed: Guards the other attributes.
        received: The batches that the program has not taken.
        places: The program's most recent positions, ending with the current one.
        next_step: The step of the next batch to receive.
        is_known: Whether the point of the current position is exact.
        mix: The position of the mix at the current position.
        is_complete: Whether the end has been received.
        is_closed: Whether the program has closed the iteration.
        failure: The error that prevents the iteration from continuing.
        has_begun: Whether an owner has started its engine.
        owner: The process of the owner; None if there is none.
        reason: Why the owner isn't sending anything.
        channel: The connection to the owner.
        readings: The last readings of the engine.
        oldest: The step of the slowest rank.
    """

    def __init__(self, start: Place) -> None:
        self.changed: Final = threading.Condition()
        self.sending: Final = threading.Lock()
        self.received: deque[_Received] = deque()
        self.places: deque[Place] = deque([start])
        self.next_step = start.step + 1
        self.is_known = True
        self.mix: list[Any] | None = None
        self.is_complete = False
        self.is_closed = False
        self.failure: EngineFailure | None = None
        self.has_begun = False
        self.owner: int | None = None
        self.reason = ""
        self.channel: NodeChannel | None = None
        self.readings: ReadingsMessage | None = None
        self.oldest = start.step

    def send(self, channel: NodeChannel, message: Taken) -> None:
        """Sends a message. If the owner is gone, the receiving thread finds another one."""
        with self.sending, contextlib.suppress(OSError):
            channel.send(message)

    def close(self) -> None:
        """Makes the receiving thread end."""
        with self.changed:
            self.is_closed = True
            self.received.clear()
            channel = self.channel
            self.changed.notify_all()
        if channel is not None:
            channel.shut_down()


class MemberExecution:
    """The batches of this rank, with the interface of `engine.Execution`.

    The receiving thread ends with the iteration, or when nothing refers to this object.
    """

    def __init__(self, ranks: LocalRanks, what: EngineDescription, start: Place) -> None:
        """Starts the receiving thread.

        Args:
            ranks: The ranks of this node.
            what: The pipeline.
            start: The position at which this rank starts.
        """
        self._name: Final = what.name
        self._num_stages: Final = what.num_stages
        self._exchange: Final = _Exchange(start)
        self._skips: deque[NodeSkip | NodePassEnd] = deque()
        # The owner's connection, and the number of batches taken since the last message to it.
        self._untold: tuple[NodeChannel | None, int] = None, 0
        self._waited_s = 0.0
        self._is_over = False
        self._process: Final = os.getpid()
        self._thread: Final = threading.Thread(
            target=_receive,
            args=(self._exchange, ranks, what),
            name="headrace-node-member",
            daemon=True,
        )
        self._thread.start()
        weakref.finalize(self, self._exchange.close).atexit = False

    def next(self, strings_as_arrow: bool) -> tuple[int, list[Any]] | NodeSkip | NodePassEnd | None:
        """Returns the next batch, or a report of skipped examples, or None at the end."""
        exchange = self._exchange
        if not self._skips:
            received = self._awaited()
            if received is None:
                return None
            self._skips.extend(received.produced.skips)
        if self._skips:
            return self._skips.popleft()
        with exchange.changed:
            if not exchange.received:
                return None
            produced, segments, channel = exchange.received.popleft()
            is_end = produced.columns is None
            if not is_end:
                exchange.places.append(produced.place)
            exchange.is_known, exchange.mix = produced.is_known, produced.mix
            while exchange.places[0].step < min(exchange.oldest, exchange.places[-1].step):
                exchange.places.popleft()
        if produced.columns is None:
            self._is_over = True
            if produced.failure is not None:
                raise produced.failure.unpacked()
            return None
        num_rows, columns = produced.columns.unpacked(segments)
        if not strings_as_arrow:
            columns = [engine.string_objects(*c) if isinstance(c, tuple) else c for c in columns]
        self._report(produced, segments, channel)
        return num_rows, columns

    def _report(self, produced: Produced, segments: FilledSegments, channel: NodeChannel) -> None:
        """Reports to the owner that the program has taken a batch, or several."""
        owner = self._exchange.channel
        told, num_untold = self._untold
        num_untold = (num_untold if told is owner else 0) + (channel is owner)
        if owner is not None and num_untold not in range(1, produced.answer_after):
            unused = segments.unused() if channel is owner else []
            self._exchange.send(owner, Taken(produced.place.step, num_untold, unused))
            num_untold = 0
        self._untold = owner, num_untold

    def _awaited(self) -> _Received | None:
        """Waits for the next batch, without taking it. Returns None if the iteration is closed."""
        exchange = self._exchange
        with exchange.changed:
            if not exchange.received:
                begin = time.monotonic()
                with RegisteredWait(self._wait_in_words):
                    while not (exchange.received or exchange.is_closed or exchange.failure):
                        exchange.changed.wait()
                self._waited_s += time.monotonic() - begin
            if exchange.received:
                received = exchange.received[0]
                if received.produced.skips:
                    # Report each skipped example only once.
                    rest = received.produced._replace(skips=[])
                    exchange.received[0] = received._replace(produced=rest)
                return received
            if exchange.failure is not None:
                raise exchange.failure.unpacked()
        return None

    def checkpoint(self, num_left: int) -> list[Any]:
        """Returns the checkpoint after the last batch that was returned."""
        return self._exchange.places[-1].checkpoint or [[0]]

    def order(
        self, digest: object, plan: object, pass_number: int, num_left: int
    ) -> tuple[engine.OrderPoint, bool]:
        """Returns the last known point of the global order, and whether it is the current one."""
        with self._exchange.changed:
            point = self._exchange.places[-1].point
            is_known = self._exchange.is_known
        return engine.OrderPoint(*(point or (pass_number, 0, 0, 0))), is_known

    def look_ahead(self) -> bool:
        """Waits for an update on the current position. Returns False if none will arrive."""
        exchange = self._exchange
        with exchange.changed:
            before = exchange.is_known, exchange.mix, len(exchange.received)
            while before == (exchange.is_known, exchange.mix, len(exchange.received)):
                if exchange.is_complete or exchange.is_closed or exchange.failure:
                    return False
                exchange.changed.wait()
            return True

    def part_counts(self, num_left: int) -> list[int]:
        """Returns the number of examples from each part of a mix."""
        return list(self._exchange.places[-1].parts)

    def mix_checkpoint(self, plan: object, num_left: int) -> list[Any] | None:
        """Returns the position of the mix, or None if it is unknown."""
        return self._exchange.mix

    def origins(self, num_left: int) -> list[engine.Origin]:
        """Returns an empty list: only `replay` remembers where examples come from."""
        return []

    def readings(self) -> ReadingsMessage:
        """Returns the readings of the node's engine, and how long this rank has waited."""
        zero = StageNumbers(0, 0, 0.0, 0.0, 0.0, None, None)
        readings = self._exchange.readings or ReadingsMessage([zero] * self._num_stages)
        return readings._replace(consumer_waiting=self._waited_s)

    @property
    def used_bytes(self) -> int:
        """The size of the batches that the program has not taken yet."""
        with self._exchange.changed:
            columns = [one.produced.columns for one in self._exchange.received]
        return sum(one.num_bytes for one in columns if one is not None)

    def reads(self) -> list[engine.ReadInProgress]:
        """Returns an empty list, because the owner does the reading."""
        return []

    def state(self) -> _MemberState:
        """Returns whether the end has been reached."""
        return _MemberState(self._is_over)

    def activity_lines(self) -> list[str]:
        """Describes the member's current activity."""
        with self._exchange.changed:
            num_ready = len(self._exchange.received)
        return [f"{num_ready} batches are ready; waits for {self._wait_in_words()}"]

    def close(self) -> None:
        """Ends the receiving thread and waits for it."""
        if self._process != os.getpid():
            return
        self._exchange.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def close_or_interrupt(self) -> None:
        """Like `close`, but Ctrl-C ends the wait."""
        self.close()

    def _wait_in_words(self) -> str:
        exchange = self._exchange
        source = "an owner" if exchange.owner is None else f"process {exchange.owner}"
        reason = f", which waits for {exchange.reason}" if exchange.reason else ""
        return (
            f"the next batch of pipeline '{self._name}' from {source} of the node's engine{reason}"
        )


def _receive(exchange: _Exchange, ranks: LocalRanks, what: EngineDescription) -> None:
    """Receives batches until the end. If the owner changes, it continues with the next one."""
    own_name = bound_socket(ranks.name_of(ranks.rank))
    try:
        if own_name is None:
            raise FailedPreconditionError(
                None,
                None,
                f"options: node='shared': another process of this node has LOCAL_RANK {ranks.rank} "
                "too, or its iteration is still open. Each process needs its own number.",
            )
        while not (exchange.is_closed or exchange.is_complete or exchange.failure):
            channel = _channel(exchange, ranks, what)
            if channel is None:
                continue
            with contextlib.closing(channel), contextlib.suppress(EOFError, OSError):
                _receive_from(exchange, channel, ranks.rank, shard_of(what.chain))
            with exchange.changed:
                exchange.owner = exchange.channel = None
    except BaseException as error:
        with exchange.changed:
            exchange.failure = EngineFailure.of(error)
    finally:
        if own_name is not None:
            own_name.close()
        with exchange.changed:
            exchange.changed.notify_all()


def _channel(exchange: _Exchange, ranks: LocalRanks, what: EngineDescription) -> NodeChannel | None:
    """Connects to the owner, possibly in this process. Returns None if it is not ready yet."""
    listener = bound_socket(ranks.name)
    if listener is not None:
        if exchange.has_begun:
            _log.info("%s: this process takes over the node's engine", what.name)
        return Owner(listener, ranks, what).own_end
    end = connected(ranks.name)
    if end is None:
        with exchange.changed:
            exchange.changed.wait(_RETRY_S)
        return None
    return Channel(end)


def _receive_from(exchange: _Exchange, channel: NodeChannel, rank: int, shard: int) -> None:
    """Receives batches from one owner."""
    with exchange.changed:
        places = list(exchange.places)
        join = Join(rank, shard, exchange.has_begun, places[-1].step, places)
        if exchange.is_closed:
            return
        # The program sends messages only after this one.
        channel.send(join)
        exchange.channel = channel
    segments = FilledSegments(_MOST_KEPT)

    def handle(message: object, descriptors: list[int]) -> None:
        if isinstance(message, Produced) and message.columns is not None:
            message.columns.received(descriptors, segments)
        with exchange.changed:
            taken = _note(exchange, message, segments, channel)
            exchange.changed.notify_all()
        if taken is not None:
            exchange.send(channel, taken)
        if exchange.is_complete:
            channel.shut_down()

    channel.serve(handle)


def _note(
    exchange: _Exchange, message: object, segments: FilledSegments, channel: NodeChannel
) -> Taken | None:
    """Records a message. For a batch that was received before, returns an answer."""
    match message:
        case Begun(process):
            exchange.owner, exchange.has_begun, exchange.reason = process, True, ""
        case Stalled(reason):
            exchange.reason = reason
        case Failed(failure):
            exchange.failure = failure
            exchange.is_complete = True
        case Later(step, point, is_known, mix):
            _note_later(exchange, step, point, is_known, mix)
        case Produced():
            exchange.oldest = max(exchange.oldest, message.oldest)
            exchange.readings = message.readings or exchange.readings
            if message.columns is None:
                exchange.is_complete = True
            elif message.place.step < exchange.next_step:
                return Taken(exchange.places[-1].step, 1, message.columns.segments)
            exchange.next_step = message.place.step + 1
            exchange.received.append(_Received(message, segments, channel))
    return None


def _note_later(
    exchange: _Exchange,
    step: int,
    point: tuple[int, int, int, int] | None,
    is_known: bool,
    mix: list[Any] | None,
) -> None:
    """Completes the position after a batch."""
    if exchange.places[-1].step == step:
        exchange.places[-1] = exchange.places[-1]._replace(point=point)
        exchange.is_known, exchange.mix = is_known, mix
    for number, received in enumerate(exchange.received):
        produced = received.produced
        if produced.place.step == step and produced.columns is not None:
            place = produced.place._replace(point=point)
            produced = produced._replace(place=place, is_known=is_known, mix=mix)
            exchange.received[number] = received._replace(produced=produced)
