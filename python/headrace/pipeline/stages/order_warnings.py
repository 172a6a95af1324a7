"""Checks and warnings for orders that differ between processes or repeat in each epoch."""

import logging
import math
from collections.abc import Sequence
from typing import Final

from headrace.pipeline.stages.components import all_stages, all_steps, has_epochs, steps
from headrace.pipeline.stages.stage import Effect, Stage, Step

__all__ = [
    "RepeatedOrderWarning",
    "check_counts_steps",
    "check_even",
    "check_one_order",
    "warn_of_leaks",
]

_log: Final = logging.getLogger("headrace.pipeline")
_DIVIDING: Final = (Effect.DIVIDES, Effect.SHARES)


def check_one_order(chain: Sequence[Stage]) -> None:
    """Checks that all processes see the same order before a shard.

    Raises:
        ValueError: If a stage has a random seed, because every process would draw a different seed.
    """
    for stage in all_stages(chain):
        if not stage.is_seed_given:
            raise ValueError(
                f"shard: {stage.name} before it has no seed, so each process would have its own "
                f"order. Set the same seed in all processes, such as {stage.name}(..., seed=7)."
            )


def check_even(chain: Sequence[Stage], step: Step) -> None:
    """Checks that ranks with equal numbers of examples keep equal numbers.

    Args:
        chain: The pipeline's stages.
        step: The stage to add after them.

    Raises:
        ValueError: If a shard makes ranks even and this stage may leave them with different numbers
            of examples.
    """
    if step.length_after(1) is not None:
        return
    even = next((one.makes_even for one in all_steps(chain) if one.makes_even), None)
    if even is not None:
        raise ValueError(
            f"{step.name}: cannot come after shard(..., even={even!r}), which gives all ranks the "
            f"same number of batches, because {step.name} may leave a different number on each "
            f"rank. Write {step.name}(...) before shard(...), or remove even."
        )


def check_counts_steps(chain: Sequence[Stage], step: Step) -> None:
    """Checks that no stage changes the batches whose steps `without_steps` counts.

    Args:
        chain: The pipeline's stages.
        step: The stage to add after them.

    Raises:
        ValueError: If steps are omitted, and the stage may change the number of batches.
    """
    if step.effect is not Effect.EACH and any(one.left_out for one in steps(chain)):
        raise ValueError(
            f"{step.name}: cannot come after without_steps, which counts the batches that your "
            f"loop receives. Write {step.name}(...) before without_steps(...)."
        )


class RepeatedOrderWarning:
    """Tracks the iterations over a pipeline, and warns once if a later one repeats earlier draws.

    Attributes:
        is_ended: Whether an iteration of epoch 0 has finished.
    """

    def __init__(self, chain: Sequence[Stage]) -> None:
        self._chain: Final = chain
        self.is_ended = False
        self._is_said = self._is_later_said = False

    def note_end(self) -> None:
        """Records that an iteration of epoch 0 has finished."""
        self.is_ended = True

    def note_begin(self) -> None:
        """Warns once if an iteration of epoch 0 repeats the random draws of an earlier one."""
        if self.is_ended and not self._is_said and not has_epochs(self._chain):
            self._is_said = True
            self._warn_of_repeats()

    def note_later_epoch(self) -> None:
        """Warns once if each epoch skips different examples."""
        if not self._is_later_said:
            self._is_later_said = True
            warn_of_leaks(self._chain)

    def _warn_of_repeats(self) -> None:
        repeated = _repeated(self._chain)
        if repeated is None:
            return
        _log.warning(
            "%s: this is another iteration of epoch 0, with the same order and random numbers as "
            "before. To get a new epoch each time, use epochs(n), or `for e in range(n): for "
            "batch in pipe.epoch(e)`.",
            repeated,
        )


def warn_of_leaks(chain: Sequence[Stage]) -> None:
    """Warns if a `take` or `skip` drops different examples in each epoch."""
    for number, step in enumerate(steps(chain), 1):
        if step.effect in (Effect.TAKES, Effect.OMITS) and _is_drawn(chain, number):
            _log.warning(
                "%s comes after a shuffle, so it skips different examples in each epoch. To "
                "separate training and validation data, use pipe.split(0.9, 0.1).",
                step,
            )
            return
    for part in chain[0].parts:
        warn_of_leaks(part)


def _is_drawn(chain: Sequence[Stage], number: int) -> bool:
    """Returns whether the examples that a `take` or `skip` drops depend on the epoch."""
    effects = [step.effect for step in steps(chain)[: number - 1]]
    if Effect.REORDERS not in effects or Effect.REPEATS in effects:
        return False
    # Users drop examples to make their number divisible by the number of ranks, so don't warn.
    divided = next((step for step in steps(chain)[number:] if step.effect in _DIVIDING), None)
    taken = steps(chain)[number - 1].length_after(math.inf)
    if divided is None or taken is None or taken == math.inf:
        return True
    return taken % divided.num_shares != 0


def _repeated(chain: Sequence[Stage]) -> str | None:
    """Returns the name of a stage that repeats its draws in each iteration, if any."""
    return next((stage.name for stage in all_stages(chain) if stage.draws), None)
