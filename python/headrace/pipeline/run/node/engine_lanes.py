"""A node's engine: one execution with a lane for each share of the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from headrace.core import engine
from headrace.core.processors import num_cores
from headrace.pipeline.plan.planner import plan
from headrace.pipeline.run.limits import cache_of, memory_bytes_of
from headrace.pipeline.run.node.messages import (
    EngineFailure,
    Later,
    NodeSkip,
    Place,
    Point,
    ReadingsMessage,
)
from headrace.pipeline.run.node.pass_end import NodePassEnd
from headrace.pipeline.run.threads.gil_share import GilShares
from headrace.pipeline.run.threads.iteration_end import close
from headrace.pipeline.run.threads.python_threads import Threads, callers_of
from headrace.pipeline.stages.components import ChainSpecs
from headrace.pipeline.stages.stage import Stage

__all__ = ["EngineDescription", "EngineLanes", "LaneOutput"]


# How many outputs of each lane to wait for while the position of a mix is unknown.
_MOST_AHEAD: Final = 8


@dataclass(frozen=True)
class EngineDescription:
    """The information that an owner needs to start an engine.

    Attributes:
        name: A description of the stages.
        chain: The stages. Their sources refer to specific commits.
        options: The pipeline's options.
        chain_specs: The components after each stage.
        epoch: The epoch number.
        is_resumed: Whether the iteration resumes from a state.
        index_files: The index files to read and write.
        local_plan: The plan of this process's own share.
        has_order: Whether there is a global order.
        num_stages: The number of measured stages.
        num_parts: The number of parts of a mix whose position is part of the state.
        process: The ID of the process that created this description.
    """

    name: str
    chain: Sequence[Stage]
    options: Mapping[str, Any]
    chain_specs: ChainSpecs
    epoch: int
    is_resumed: bool
    index_files: engine.IndexFiles
    local_plan: engine.Plan
    has_order: bool
    num_stages: int
    num_parts: int
    process: int


class LaneOutput(NamedTuple):
    """The next batch of a lane, or its end.

    Attributes:
        lane: The number of the lane.
        columns: The number of rows and the columns, or None at the end.
        failure: The exception that ended the lane, if any.
        skips: The examples skipped before the batch.
        place: The position after the batch.
        is_known: Whether that position's point in the global order is exact.
        mix: The position of the mix, or None if it is unknown.
    """

    lane: int
    columns: tuple[int, list[Any]] | None
    failure: EngineFailure | None
    skips: list[NodeSkip | NodePassEnd]
    place: Place
    is_known: bool
    mix: list[Any] | None


class _Lane:
    """The owner's record of a lane.

    Attributes:
        digest: Its global order's digest.
        place: The position after its last batch.
        parts: The number of examples of each part of a mix at its start.
        is_incomplete: Whether that position is only partly known so far.
    """

    def __init__(self, start: Place) -> None:
        self.digest: Final = engine.OrderDigest()
        if start.point is not None:
            self.digest.begin(engine.OrderPoint(*start.point))
        self.place = start
        self.parts: Final = start.parts
        self.skips: list[NodeSkip | NodePassEnd] = []
        self.is_incomplete = False
        self.is_open = True


class EngineLanes:
    """An execution with one lane for each share. Only one thread may use it."""

    def __init__(self, what: EngineDescription, shards: Sequence[int], starts: list[Place]) -> None:
        """Starts the engine.

        Args:
            what: The pipeline.
            shards: The index of each lane's share.
            starts: The position at which each lane starts.
        """
        self._what = what
        is_shared = _are_alike(what, starts)
        if is_shared:
            # All shares start at the same position.
            starts = [starts[0]._replace(parts=start.parts) for start in starts]
        self._lanes = [_Lane(start) for start in starts]
        lanes = engine.Lanes(list(shards), is_shared)
        digests = [lane.digest for lane in self._lanes]
        planned = plan(
            what.chain,
            what.chain_specs,
            cache_of(what.options),
            False,
            what.is_resumed,
            what.index_files,
            engine.OrderDigest.of_lanes(digests, is_shared) if what.has_order else None,
            None,
            lanes,
        )
        workers = planned.python_workers
        self._plan = planned.plan
        self._has_arrow_strings = what.options.get("strings") == "arrow"
        self.execution: Final = engine.Execution(
            planned.plan,
            name=what.name,
            epoch=what.epoch,
            checkpoint=[start.checkpoint for start in starts],
            function_states=[worker.initial for worker in workers],
            num_threads=what.options.get("num_threads") or num_cores(),
            num_callers=len(callers_of(workers)),
            num_python_workers=len(workers),
            num_stages=len(planned.stages),
            # The rest is for batches that members have not used yet.
            memory_bytes=memory_bytes_of(what.options) * 3 // 4,
            max_outputs=planned.num_ready * len(starts),
            is_batched=True,
            is_deterministic=True,
            is_synchronous=False,
            keeps_origins=False,
            lanes=lanes,
        )
        names = [stage.name for stage in planned.stages]
        shares = GilShares(len(workers))
        threads = Threads(self.execution, workers, names, shares, what.options, False)
        # Threads refer to the workers weakly.
        self._workers = workers
        processes = [
            p for worker in workers if (p := getattr(worker, "processes", None)) is not None
        ]
        for each in processes:
            each.hold, each.keeps_workers = self.execution.hold, False
        self._ending = threads.ending(what.name, processes)
        threads.start()

    def outputs(self) -> Iterator[LaneOutput | tuple[int, Later]]:
        """Yields the batches and ends of all lanes, and updated positions of sent batches."""
        while True:
            yield from self._completed()
            result = self.execution.next_of_lane(self._has_arrow_strings)
            if result is None:
                return
            number, value = result
            lane = self._lanes[number]
            if isinstance(value, engine.Failure):
                lane.skips.append(NodeSkip.of(value))
            elif isinstance(value, engine.PassEnd):
                lane.skips.append(NodePassEnd(value.skipper, value.pass_number, value.num_rows))
            elif isinstance(value, tuple):
                yield self._batch(number, value)
            else:
                lane.is_open = lane.is_incomplete = False
                skips, lane.skips = lane.skips, []
                failure = None if value is None else EngineFailure.of(value)
                known = self._point(number)[1]
                mix = self._mix(number)
                yield LaneOutput(number, None, failure, skips, lane.place, known, mix)

    def close_lane(self, number: int) -> None:
        """Ends a lane that no member needs."""
        lane = self._lanes[number]
        lane.is_open = lane.is_incomplete = False
        self.execution.close_lane(number)

    def readings(self) -> ReadingsMessage:
        """Returns the readings so far."""
        return ReadingsMessage.of(self.execution.readings())

    def close(self) -> None:
        """Ends all threads and waits for them."""
        close(self._ending, self._what.process)

    def _batch(self, number: int, columns: tuple[int, list[Any]]) -> LaneOutput:
        lane = self._lanes[number]
        point, is_known = self._point(number)
        mix = self._mix(number)
        parts = self.execution.part_counts(0, number)
        if lane.parts:
            parts = [n + before for n, before in zip(parts, lane.parts, strict=True)]
        checkpoint = self.execution.checkpoint(0, number)
        lane.place = Place(lane.place.step + 1, checkpoint, point, parts)
        lane.is_incomplete = not is_known or (mix is None and self._what.num_parts > 0)
        skips, lane.skips = lane.skips, []
        return LaneOutput(number, columns, None, skips, lane.place, is_known, mix)

    def _point(self, number: int) -> tuple[Point | None, bool]:
        if not self._what.has_order:
            return None, True
        lane = self._lanes[number]
        point, is_known = self.execution.order(lane.digest, self._plan, self._what.epoch, 0, number)
        return (point.pass_number, point.position, point.hash, point.num_hashed), is_known

    def _mix(self, number: int) -> list[Any] | None:
        if not self._what.num_parts:
            return None
        return self.execution.mix_checkpoint(self._plan, 0, number)

    def _completed(self) -> Iterator[tuple[int, Later]]:
        """Completes the positions of lanes before their next batches are taken.

        The position after a batch may be unknown until the other ranks' examples of the same step
        have been read. If a lane is the next to return a batch, this waits for these examples.
        """
        for number, lane in enumerate(self._lanes):
            if not lane.is_incomplete:
                continue
            later = self._later(number)
            is_next = lane.place.step == min(one.place.step for one in self._lanes if one.is_open)
            attempts = 0
            while is_next and not self._is_complete(later, attempts):
                attempts += 1
                if not self.execution.look_ahead():
                    later = self._later(number)
                    break
                later = self._later(number)
            if is_next or self._is_complete(later, attempts):
                lane.is_incomplete = False
                yield number, later

    def _is_complete(self, later: Later, attempts: int) -> bool:
        # If a stage holds examples back, the position of a mix may never become known.
        has_mix = later.mix is not None or attempts >= _MOST_AHEAD * len(self._lanes)
        return later.is_known and (has_mix or not self._what.num_parts)

    def _later(self, number: int) -> Later:
        point, is_known = self._point(number)
        return Later(self._lanes[number].place.step, point, is_known, self._mix(number))


def _are_alike(what: EngineDescription, starts: Sequence[Place]) -> bool:
    """Returns whether all lanes start at the same position of the global order."""
    if len(starts) == 1 or all(start.checkpoint is None for start in starts):
        return True
    if any(start.checkpoint is None for start in starts):
        return False
    positions = {what.local_plan.order_position(what.epoch, s.checkpoint or []) for s in starts}
    return len(positions) == 1 and None not in positions
