"""Warnings about orders that differ between processes, or are the same in all epochs."""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.stages import Stage

__all__ = ["History", "check_one_order", "warn_of_leaks"]

_log: Final = logging.getLogger("headrace.pipeline")


def check_one_order(chain: Sequence[Stage]) -> None:
    """Checks that the order before a shard is the same in each process.

    Raises:
        ValueError: If a seed was drawn for it, because another process would draw another one.
    """
    for stage in _all(chain):
        if isinstance(stage, (stages.Shuffle, stages.Mix)) and not stage.is_seed_given:
            raise ValueError(
                f"shard: {stage.name} before it has no seed, expected one: each process would draw "
                "its own, and the shards would not be of one order. Give all the same one, such as "
                f"{stage.name}(..., seed=7)."
            )


class History:
    """The iterations over one pipeline; it warns once if later ones may surprise the user.

    Attributes:
        is_ended: Whether an iteration of epoch 0 has come to its end.
    """

    def __init__(self, chain: Sequence[Stage]) -> None:
        self._chain: Final = chain
        self.is_ended = False
        self._is_said = self._is_later_said = False

    def note_end(self) -> None:
        """Notes that an iteration of epoch 0 has come to its end."""
        self.is_ended = True

    def note_begin(self) -> None:
        """Warns, once, if an iteration of epoch 0 repeats the draws of an earlier one."""
        if self.is_ended and not self._is_said and not stages.has_epochs(tuple(self._chain)):
            self._is_said = True
            self._warn_of_repeats()

    def note_later_epoch(self) -> None:
        """Warns, once, if each epoch skips different examples."""
        if not self._is_later_said:
            self._is_later_said = True
            warn_of_leaks(self._chain)

    def _warn_of_repeats(self) -> None:
        repeated = _repeated(self._chain)
        if repeated is None:
            return
        _log.warning(
            "%s: the pipeline was iterated to its end before, and this iteration is epoch 0 too: "
            "it has the same order and the same random draws. For other epochs write epochs(n), or "
            "`for e in range(n): for batch in pipe.epoch(e)`.",
            repeated,
        )


def warn_of_leaks(chain: Sequence[Stage]) -> None:
    """Warns if `take` or `skip` of these stages omits different examples in each epoch."""
    for number, stage in enumerate(chain):
        if isinstance(stage, (stages.Take, stages.Skip)) and _is_drawn(chain, number):
            _log.warning(
                "%s: it follows a shuffle, and each epoch has another order: so it skips other "
                "examples in each epoch, and those that it skips in one come in another. Parts for "
                "training and validation, the same in all epochs, are pipe.split(0.9, 0.1).",
                stage,
            )
            return
    for part in stages.parts_of(chain[0]):
        warn_of_leaks(part)


def _is_drawn(chain: Sequence[Stage], number: int) -> bool:
    """Returns whether the examples that a `take` or `skip` omits depend on the epoch."""
    before = chain[:number]
    shuffles = [n for n, stage in enumerate(before) if isinstance(stage, stages.Shuffle)]
    borders = [n for n, stage in enumerate(before) if isinstance(stage, stages.Epochs)]
    if not shuffles or borders:
        return False
    stage, behind = chain[number], chain[number + 1 :]
    shard = next((after for after in behind if isinstance(after, stages.Shard)), None)
    # Ranks get equally many examples: a remainder smaller than the number of ranks is dropped.
    is_even = isinstance(stage, stages.Take) and shard is not None and not stage.count % shard.count
    return not is_even


def _repeated(chain: Sequence[Stage]) -> str | None:
    """Returns the name of a stage with the same draws in each iteration of an epoch, if any."""
    found = (
        stage.name
        for stage in _all(chain)
        if isinstance(stage, stages.Shuffle)
        or (isinstance(stage, stages.Map) and stage.seed is not None)
    )
    return next(found, None)


def _all(chain: Sequence[Stage]) -> Iterator[Stage]:
    for part in stages.parts_of(chain[0]):
        yield from _all(part)
    yield from chain
