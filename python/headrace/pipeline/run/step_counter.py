"""Counts the batches of an iteration, to omit some steps' batches."""

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.lengths import length_of
from headrace.pipeline.run.state import ResumePoint
from headrace.pipeline.stages.stage import Stages, StepRange
from headrace.pipeline.stages.without_steps import left_out_steps, with_all_steps

__all__ = ["StepCounter"]


class StepCounter:
    """The number of batches that an iteration has produced, including omitted ones.

    Attributes:
        number: The number of batches since the beginning of the iteration's epoch. None after
            resuming from a state that does not include it.
        num_left_out: The number of batches that this iteration has omitted.
    """

    def __init__(
        self, chain: Stages, options: Mapping[str, Any], epoch: int, resumed: ResumePoint | None
    ) -> None:
        """Finds the steps to omit, and checks that a state matches them.

        Args:
            chain: The pipeline's stages.
            options: The pipeline's options.
            epoch: The epoch number.
            resumed: The state to resume from.

        Raises:
            ValueError: If the steps of this epoch are unknown, the batches have no fixed order, or
                the run that saved the state omitted different steps.
        """
        self._ranges = left_out_steps(chain)
        self._first = _num_earlier(chain, options, epoch) if self._ranges else 0
        self.number: int | None = 0 if resumed is None else resumed.step
        self.num_left_out = 0
        if self._ranges and not options.get("deterministic", True):
            raise ValueError(
                "without_steps: the pipeline has options(deterministic=False), so its batches "
                "have no fixed order. Remove that option."
            )
        if resumed is not None:
            self._check(resumed)

    def _check(self, resumed: ResumePoint) -> None:
        if not self._ranges and not resumed.left_out:
            return
        if self.number is None:
            raise ValueError(
                "resume: the state does not include the number of its step, because an earlier "
                "version of headrace saved it. Resume without without_steps, and save a new state."
            )
        mine, theirs = self.left_out, [(start, end) for start, end in resumed.left_out]
        if not self._ranges and mine != theirs:
            raise ValueError(
                f"resume: the run that saved the state left out steps {_shown(theirs)}, but this "
                f"pipeline does not. Add without_steps({theirs})."
            )
        if mine != theirs:
            raise ValueError(
                f"resume: the state was saved at step {self._first + self.number}, after leaving "
                f"out {_shown(theirs) or 'no steps'}, but this pipeline leaves out {_shown(mine)} "
                "up to there. Resume from a state before the first difference, or leave out the "
                "same steps. The steps count all batches, including those left out."
            )

    @property
    def left_out(self) -> list[StepRange]:
        """The steps omitted so far, including steps of earlier epochs."""
        end = self._first + (self.number or 0)
        return [(start, min(behind, end)) for start, behind in self._ranges if start < end]

    @property
    def left_out_of_epoch(self) -> list[StepRange]:
        """The steps omitted so far, counted from the beginning of the iteration's epoch."""
        first = self._first
        return [
            (max(start, first) - first, end - first) for start, end in self.left_out if end > first
        ]

    def count(self) -> bool:
        """Counts a batch, and returns whether to omit it."""
        if self.number is None:
            return False
        step = self._first + self.number
        self.number += 1
        is_left_out = any(start <= step < end for start, end in self._ranges)
        self.num_left_out += is_left_out
        return is_left_out


def _num_earlier(chain: Stages, options: Mapping[str, Any], epoch: int) -> int:
    """Returns the number of batches in earlier epochs."""
    if epoch == 0:
        return 0
    try:
        return epoch * length_of(with_all_steps(chain), index_files(options))
    except TypeError as error:
        raise ValueError(
            "without_steps: steps count over all epochs, but the number of batches in an epoch "
            f"is unknown, so the first step of epoch {epoch} is, too. Use epochs(n) before batch "
            "instead of a loop over epochs."
        ) from error


def _shown(ranges: Sequence[StepRange]) -> str:
    return ", ".join(f"{start} to {end - 1}" for start, end in ranges)
