"""The owner of a node's engine: it sends each rank its batches."""

import atexit
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from headrace.core.errors import FailedPreconditionError
from headrace.core.wait_registry import RegisteredWait
from headrace.pipeline.run.limits import memory_bytes_of
from headrace.pipeline.run.node.engine_lanes import EngineDescription, EngineLanes, LaneOutput
from headrace.pipeline.run.node.local_ranks import LocalRanks, bound_socket, is_own
from headrace.pipeline.run.node.messages import (
    Begun,
    EngineFailure,
    Failed,
    Join,
    LocatedColumns,
    OwnColumns,
    PackedColumns,
    Place,
    Produced,
    ReadingsMessage,
    Stalled,
    Taken,
)
from headrace.pipeline.run.node.own_channel import NodeChannel, OwnChannel, own_channels
from headrace.pipeline.workers.messages import Channel
from headrace.pipeline.workers.shared_segments import Segment, SegmentPool

__all__ = ["Owner"]

_log: Final = logging.getLogger("headrace.pipeline")

# How many unused batches a member may hold. All members together may hold the memory budget divided
# by the second number.
_MOST_UNUSED: Final = 8
_PART_OF_MEMORY: Final = 4
# How often to check whether missing ranks are gone, and how long to wait before reporting them.
_CHECK_S: Final = 0.02
_PATIENCE_S: Final = 10.0
# How long the owner waits for a rank before it informs the others.
_STALL_S: Final = 1.0
_READINGS_S: Final = 0.25
# How long an ending process waits for messages from slower ranks before others take over.
_LINGER_S: Final = 2.0


class _Member:
    """The owner's record of a rank.

    Attributes:
        channel: The connection.
        join: Its first message.
        is_here: Whether it is in this process.
        pool: Its segments.
        released: The segments that it no longer uses.
        step: The number of batches that its program has taken.
        unused: The sizes of the batches that it has not used yet, in bytes.
        answer_after: How many of the last batches it may take before it reports them.
    """

    def __init__(self, channel: NodeChannel, join: Join) -> None:
        self.channel: Final = channel
        self.join: Final = join
        self.is_here: Final = isinstance(channel, OwnChannel)
        self.pool: Final = SegmentPool()
        self.step = join.step
        self.released: list[int] = []
        self.unused: list[int] = []
        self.answer_after = 1

    def current_pool(self, lock: threading.Condition) -> SegmentPool:
        """Returns the pool of segments. Only the thread that fills them may call this."""
        with lock:
            released, self.released = self.released, []
        self.pool.release(released)
        return self.pool


class Owner:
    """Runs the engine until no member needs it. Its threads end with the process.

    Attributes:
        own_end: The connection of the rank in this process.
    """

    def __init__(self, listener: socket.socket, ranks: LocalRanks, what: EngineDescription) -> None:
        """Starts the threads.

        Args:
            listener: The socket that holds the owner's name.
            ranks: The ranks of this node.
            what: The pipeline.
        """
        self._listener: Final = listener
        self._ranks: Final = ranks
        self._what: Final = what
        self._most_bytes = memory_bytes_of(what.options) // _PART_OF_MEMORY // ranks.size
        self._changed: Final = threading.Condition()
        self._members: dict[int, _Member] = {}
        # Set once all ranks have joined.
        self._has_begun = False
        # Set once a lane has ended. The other lanes are about to end, too.
        self._is_ending = False
        self._is_over = False
        # Set when a member leaves: perhaps nobody needs its lane any more.
        self._has_left = True
        self._engine: EngineLanes | None = None
        listener.listen(2 * ranks.size)
        _owners.add(self)
        channel, self.own_end = own_channels()
        _start("member", self._serve, channel)
        _start("accept", self._accept)
        _start("owner", self._run)

    def linger(self) -> None:
        """Near the end, serves the other ranks until they have received everything."""
        with self._changed:
            while self._is_ending and self._members and self._changed.wait(_LINGER_S):
                pass

    def close(self) -> None:
        """Ends the engine. The members elect another owner."""
        with self._changed:
            self._is_over = True
            members = list(self._members.values())
            self._changed.notify_all()
        # Otherwise, a thread that waits in `accept` would keep the socket open and the name in use.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for member in members:
            member.channel.shut_down()
        if self._engine is not None:
            # Wakes the thread that waits for its next batch.
            self._engine.execution.close()
        _owners.discard(self)

    def _accept(self) -> None:
        while True:
            try:
                end, _ = self._listener.accept()
            except OSError:
                return
            if is_own(end):
                _start("member", self._serve, Channel(end))
            else:
                end.close()

    def _serve(self, channel: NodeChannel) -> None:
        """Receives the messages of one member."""
        member = None
        try:
            join, _ = channel.receive()
            member = joined = _Member(channel, join)
            if not self._add(member):
                if not self._is_over:
                    channel.send(Failed(EngineFailure.of(_late_error(join.rank))))
                # If this owner has ended, the rank looks for the next one.
                return
            channel.serve(lambda taken, _: self._note(joined, taken))
        except (EOFError, OSError):
            pass
        finally:
            channel.close()
            if member is not None:
                self._remove(member)

    def _add(self, member: _Member) -> bool:
        with self._changed:
            if self._has_begun or self._is_over or member.join.rank in self._members:
                return False
            self._members[member.join.rank] = member
            self._changed.notify_all()
            return True

    def _remove(self, member: _Member) -> None:
        with self._changed:
            if self._members.get(member.join.rank) is member:
                del self._members[member.join.rank]
                self._has_left = True
            self._changed.notify_all()

    def _note(self, member: _Member, taken: Taken) -> None:
        with self._changed:
            member.step = max(member.step, taken.step)
            del member.unused[: taken.num_sent]
            member.released += taken.unused
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            lanes = self._gathered()
            if lanes is not None:
                self._produce(lanes)
                self._wait_for_end()
        except BaseException as error:
            failed = Failed(EngineFailure.of(error))
            self._tell(failed)
        finally:
            self.close()
            if self._engine is not None:
                self._engine.close()

    def _gathered(self) -> list[int] | None:
        """Waits for all ranks. Returns the share of each lane; None if all are gone."""
        begin, is_reported = time.monotonic(), False
        with RegisteredWait(self._missing_in_words), self._changed:
            while not self._is_over:
                missing = self._missing()
                if not missing:
                    break
                if time.monotonic() - begin > _PATIENCE_S and not is_reported:
                    is_reported = True
                    _log.warning("%s", self._missing_in_words())
                    self._tell(Stalled(f"the local ranks {_list(missing)} to start it"))
                self._changed.wait(_CHECK_S)
            if self._is_over or not self._members:
                return None
            self._has_begun = True
            members = [self._members[rank] for rank in sorted(self._members)]
        return sorted({member.join.shard for member in members})

    def _missing(self) -> list[int]:
        """Returns the ranks that have yet to join."""
        missing = [rank for rank in range(self._ranks.size) if rank not in self._members]
        if not any(member.join.has_begun for member in self._members.values()):
            return missing
        # All ranks had joined before, so a rank whose name is free has ended.
        return [rank for rank in missing if not _is_free(self._ranks.name_of(rank))]

    def _missing_in_words(self) -> str:
        return (
            f"pipeline '{self._what.name}' with options(node='shared') waits until the local ranks "
            f"{_list(self._missing())} start this iteration. All ranks of a node must start the "
            "same iterations in the same order."
        )

    def _produce(self, shards: list[int]) -> None:
        with self._changed:
            members = list(self._members.values())
        # Members may have taken more batches since they joined, but only the positions that they
        # sent when joining are known here.
        step = min((member.join.step for member in members), default=0)
        starts = [_place_of([m for m in members if m.join.shard == s], step) for s in shards]
        self._engine = engine = EngineLanes(self._what, shards, starts)
        self._tell(Begun(os.getpid()))
        told = 0.0
        open_lanes = set(range(len(shards)))
        for output in engine.outputs():
            lane = output.lane if isinstance(output, LaneOutput) else output[0]
            if isinstance(output, LaneOutput):
                readings = None
                if time.monotonic() - told > _READINGS_S or output.columns is None:
                    readings, told = engine.readings(), time.monotonic()
                self._send(shards[lane], output, readings)
                if output.columns is None:
                    open_lanes.discard(lane)
                    self._is_ending = True
            else:
                for member in self._of_shard(shards[lane]):
                    self._send_to(member, output[1])
            if not (self._has_left or self._is_over):
                continue
            with self._changed:
                self._has_left = False
                needed = {member.join.shard for member in self._members.values()}
                if self._is_over or not needed:
                    return
            for number in sorted(open_lanes):
                if shards[number] not in needed:
                    engine.close_lane(number)
                    open_lanes.discard(number)

    def _wait_for_end(self) -> None:
        """Waits until all members have received the end and left."""
        assert self._engine is not None
        self._engine.close()
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not self._members)

    def _send(self, shard: int, output: LaneOutput, readings: ReadingsMessage | None) -> None:
        """Sends a batch, or the end of a lane, to the members of the lane."""
        packed = None
        # This process's program may change the batch once it has it, so its turn comes last.
        for member in sorted(self._of_shard(shard), key=lambda m: m.is_here):
            segment: Segment | None = None
            columns: LocatedColumns | OwnColumns | None = None
            if output.columns is not None and member.is_here:
                columns = OwnColumns(output.columns)
                self._wait_for(member, columns.num_bytes)
            elif output.columns is not None:
                packed = packed or PackedColumns(*output.columns)
                self._wait_for(member, packed.num_bytes)
                columns, segment = packed.located(member.current_pool(self._changed))
            answer_after, oldest = self._note_sent(member, columns)
            message = Produced(
                output.place,
                output.is_known,
                output.mix,
                output.skips,
                columns,
                answer_after,
                output.failure,
                oldest,
                readings,
            )
            self._send_to(member, message, [] if segment is None else [segment.descriptor])
            if segment is not None:
                segment.close()

    def _note_sent(
        self, member: _Member, columns: LocatedColumns | OwnColumns | None
    ) -> tuple[int, int]:
        """Notes a batch.

        Returns:
            How many batches the member may take before it reports them, and the step of the slowest
            member.
        """
        num_bytes = 0 if columns is None else columns.num_bytes
        with self._changed:
            if columns is not None:
                num_fitting = self._most_bytes // max(num_bytes, 1)
                member.answer_after = max(1, min(num_fitting, _MOST_UNUSED) // 2)
                member.unused.append(num_bytes)
            oldest = min((one.step for one in self._members.values()), default=0)
        return member.answer_after, oldest

    def _wait_for(self, member: _Member, num_bytes: int) -> None:
        """Waits until a member can accept a batch, or is gone."""
        if self._has_room(member, num_bytes, 0.0):
            return
        begin, is_told = time.monotonic(), False
        reason = f"local rank {member.join.rank}, which has not taken its last batches yet"
        with RegisteredWait(lambda: f"{reason}, in pipeline '{self._what.name}'"):
            while not self._has_room(member, num_bytes, _STALL_S):
                if not is_told and time.monotonic() - begin > _STALL_S:
                    is_told = True
                    self._tell(Stalled(reason))
        if is_told:
            self._tell(Stalled(""))

    def _has_room(self, member: _Member, num_bytes: int, patience_s: float) -> bool:
        """Returns whether a member can accept a batch or is gone. If not, waits for a change."""
        with self._changed:
            is_there = self._members.get(member.join.rank) is member and not self._is_over
            num_unused = len(member.unused)
            unused_bytes = sum(member.unused)
            is_fitting = unused_bytes + num_bytes <= self._most_bytes and num_unused < _MOST_UNUSED
            # The member may have taken all batches without reporting them.
            has_room = is_fitting or num_unused < max(2, member.answer_after)
            if has_room or not is_there:
                return True
            if patience_s:
                self._changed.wait(patience_s)
            return False

    def _of_shard(self, shard: int) -> list[_Member]:
        with self._changed:
            return [member for member in self._members.values() if member.join.shard == shard]

    def _tell(self, message: object) -> None:
        with self._changed:
            members = list(self._members.values())
        for member in members:
            self._send_to(member, message)

    def _send_to(
        self, member: _Member, message: object, descriptors: list[int] | None = None
    ) -> None:
        try:
            member.channel.send(message, descriptors or [])
        except OSError:
            self._remove(member)


def _start(name: str, work: Callable[..., None], *arguments: object) -> None:
    name = f"headrace-node-{name}"
    threading.Thread(target=work, args=arguments, name=name, daemon=True).start()


def _place_of(members: list[_Member], step: int) -> Place:
    """Returns the position at a step, from the lane member that remembers it."""
    for member in members:
        for place in member.join.places:
            if place.step == step:
                return place
    raise RuntimeError(f"no rank remembers the position at step {step}")


def _list(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))


def _late_error(rank: int) -> FailedPreconditionError:
    return FailedPreconditionError(
        None,
        None,
        f"options: node='shared': local rank {rank} joins an iteration that the other ranks have "
        "begun, or has the number of another process. Start a new iteration in all ranks.",
    )


def _is_free(name: str) -> bool:
    bound = bound_socket(name)
    if bound is None:
        return False
    bound.close()
    return True


_owners: Final[set[Owner]] = set()


def _close_all() -> None:
    for owner in list(_owners):
        owner.linger()
        owner.close()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_owners.clear)
