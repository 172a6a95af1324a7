"""The digest of an iteration's global order, to compare ranks and machines."""

import json
from collections.abc import Sequence
from typing import Any, Final

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.core.errors import FailedPreconditionError
from headrace.pipeline.plan.global_order import ordered_stages
from headrace.pipeline.run.mixture_parts import CHANGED_MIXTURE_PASS
from headrace.pipeline.run.state import ResumePoint, num_described, order_of
from headrace.pipeline.stages.components import steps
from headrace.pipeline.stages.stage import Effect, Stage, StepRange

__all__ = ["GlobalOrder"]

_NUM_LETTERS: Final = 16


class GlobalOrder:
    """The global order of one iteration, as seen by its engine."""

    def __init__(
        self, chain: Sequence[Stage], resumed: ResumePoint | None, is_wanted: bool
    ) -> None:
        """Determines whether there is a global order.

        Args:
            chain: The pipeline's stages.
            resumed: The state to resume from.
            is_wanted: Whether the examples have a fixed order.
        """
        num_ordered = ordered_stages(chain)
        # If readers share a pipeline's batches, each of them sees only a part of the order.
        is_shared = any(step.effect is Effect.SHARES for step in steps(chain))
        self._refusal = (
            num_ordered
            if isinstance(num_ordered, str)
            else "its batches are shared between readers"
        )
        self._ordered = (
            chain[:num_ordered] if isinstance(num_ordered, int) and not is_shared else ()
        )
        # Whether a change of the mix has interrupted the order.
        self._is_cut = False
        # The engine's part, or None if there is no order.
        self.seen = engine.OrderDigest() if is_wanted and self._ordered else None
        if self.seen is not None and resumed is not None and resumed.digest is not None:
            point = engine.OrderPoint(*resumed.digest[1:])
            self.seen.begin(point)
            self._is_cut = point.pass_number >= CHANGED_MIXTURE_PASS

    def begin(self, execution: engine.Execution, plan: engine.Plan, epoch: int) -> None:
        """Sets the execution, its plan and the epoch number."""
        self._begun = (execution, plan, epoch)

    def note_position(self, num_left: int) -> None:
        """Drops the recorded order before the current position, if it has become long.

        Args:
            num_left: The number of examples taken from the engine that the user has not received.
        """
        if self.seen is not None and self.seen.is_long:
            self._point(self.seen, num_left)

    def state(self, num_left: int) -> list[int] | None:
        """Returns the order's entry in a state; see `ResumePoint.digest`."""
        if self.seen is None:
            return None
        point, _ = self._point(self.seen, num_left)
        return [
            num_described(self._ordered),
            point.pass_number,
            point.position,
            point.hash,
            point.num_hashed,
        ]

    def digest(
        self, files: Sequence[Any], left_out: Sequence[StepRange], num_left: int, name: str
    ) -> str:
        """Returns the digest up to the current position; see `Batches.digest`.

        Args:
            files: Digests of each source's files.
            left_out: The steps that were omitted so far.
            num_left: See `note_position`.
            name: The pipeline's name, for messages.

        Raises:
            FailedPreconditionError: If there is no global order.
        """
        point = self._exact_point("digest", num_left, name)
        content = [order_of(self._ordered), files, point.hash, point.num_hashed]
        text = json.dumps([*content, left_out] if left_out else content)
        return sha256(text.encode()).hexdigest()[:_NUM_LETTERS]

    def position(self, num_left: int, name: str) -> int:
        """Returns the number of examples up to the program's position.

        It has the same arguments and errors as `digest`.
        """
        return self._exact_point("position", num_left, name).num_hashed

    def _exact_point(self, what: str, num_left: int, name: str) -> engine.OrderPoint:
        """Returns the point of the order at the program's position. `what` is for messages."""
        if self.seen is None:
            raise FailedPreconditionError(
                None, None, f"{what}: the batches have no global order, because {self._refusal}."
            )
        if self._is_cut:
            raise FailedPreconditionError(
                None,
                None,
                f"{what}: pipeline '{name}' was resumed with different parts or weights of mix, so "
                "its batches come from two different orders. Start an iteration from the "
                "beginning.",
            )
        execution, *_ = self._begun
        point, is_known = self._point(self.seen, num_left)
        while not is_known:
            is_going_on = execution.look_ahead()
            point, is_known = self._point(self.seen, num_left)
            if not is_known and not is_going_on:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"{what}: pipeline '{name}' ended before it saw the examples of the other "
                    f"ranks in the last step. Call {what}() before close().",
                )
        return point

    def _point(self, seen: engine.OrderDigest, num_left: int) -> tuple[engine.OrderPoint, bool]:
        """Returns the last known point of the order, and whether it is the current position."""
        execution, plan, epoch = self._begun
        return execution.order(seen, plan, epoch, num_left)
