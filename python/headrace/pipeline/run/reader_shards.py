"""Shares of the batches of a pipeline, for readers that divide the work of one pipeline.

Reader `index` of `count` returns every `count`-th batch of the common order. It runs the stages
that give one example for each, and the batching, for its own batches alone: the share is taken
before them. Each reader runs all stages before that (reading, filters, windows), since the order
depends on them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, cast

from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.state import resumed, state_of
from headrace.pipeline.stages.components import ChainSpecs, batch_depth, steps
from headrace.pipeline.stages.share import Share
from headrace.pipeline.stages.stage import Effect, Stage, Stages, Step

__all__ = ["BEGINNING", "Cursor", "Description", "ShareBatches", "check_shares", "work_of_all"]


class Description(Protocol):
    """The part of a `Pipeline` that is needed here."""

    @property
    def _stages(self) -> Stages:
        """Its stages."""

    @property
    def _options(self) -> dict[str, Any]:
        """The options that `options` was given."""

    def _learned_specs(self, epoch: int = 0) -> ChainSpecs:
        """Returns the components after each stage, learned from an epoch."""


class Cursor(NamedTuple):
    """A position from which any share can resume: before batch number `first` of the common order.

    Attributes:
        first: The number of the batch, from 0.
        state: The state from which the pipeline continues there, as plain data that `json` accepts;
            None for the beginning.
    """

    first: int
    state: dict[str, Any] | None


BEGINNING: Final = Cursor(0, None)


def check_shares(where: str, pipe: Description) -> None:
    """Checks that a pipeline has batches in an order.

    Raises:
        ValueError: If it returns examples, or has no order.
    """
    if not batch_depth(pipe._stages):
        raise ValueError(
            f"{where}: the pipeline gives examples, expected batches. End it with batch(...)."
        )
    if not pipe._options.get("deterministic", True):
        raise ValueError(
            f"{where}: the pipeline has options(deterministic=False), expected a fixed order. "
            "Remove it."
        )


def work_of_all(pipe: Description) -> Stages:
    """Returns the stages that every reader runs for all batches, not only for its own."""
    return pipe._stages[: _divided(pipe._stages)[0]]


class ShareBatches:
    """One iteration over the batches `first + index`, `first + index + count`, … of a pipeline.

    Must be used by one thread at a time.
    """

    def __init__(
        self, pipe: Description, index: int, count: int, epoch: int = 0, cursor: Cursor = BEGINNING
    ) -> None:
        """Starts its threads.

        Args:
            pipe: The pipeline, which has passed `check_shares`.
            index: The share among `count`, counted from the cursor on.
            count: The number of shares.
            epoch: The number of the epoch, for a pipeline at its beginning.
            cursor: The position at which it begins.
        """
        where, run = _divided(pipe._stages)
        chain = (*pipe._stages[:where], Share(run, index, count), *pipe._stages[where:])
        # Python functions are called to learn this, for the first example of the whole pipeline.
        resume_point = None if cursor.state is None else resumed(chain, cursor.state)
        chain_specs = pipe._learned_specs(epoch if resume_point is None else resume_point.epoch)
        specs = [
            *chain_specs.specs[:where],
            chain_specs.specs[where - 1],
            *chain_specs.specs[where:],
        ]
        self._count = count
        self._run = run
        self._first = cursor.first
        #: The number of the batch that comes next.
        self.next_number = cursor.first + index
        self._batches = Batches(
            chain if resume_point is None else resume_point.chain,
            pipe._options,
            ChainSpecs(specs, chain_specs.parts, _moved(chain_specs.first_empty_stage, where)),
            epoch if resume_point is None else resume_point.epoch,
            resume_point,
        )

    def cursor(self) -> Cursor:
        """Returns a cursor before the next batch, less than `count` batches away from it."""
        index = (self.next_number - self._first) % self._count
        return Cursor(self.next_number - index, _aligned(self._batches.state(), self._run))

    def __next__(self) -> dict[str, Any]:
        batch = next(self._batches)
        self.next_number += self._count
        return batch

    @property
    def batches(self) -> Batches:
        """The iteration itself, with its statistics and its skipped examples."""
        return self._batches

    def close(self) -> None:
        """Ends its threads."""
        self._batches.close()


def _moved(first_empty_stage: int | None, where: int) -> int | None:
    """Returns the number of a stage after another one is inserted before stage `where`."""
    return (
        first_empty_stage
        if first_empty_stage is None or first_empty_stage < where
        else first_empty_stage + 1
    )


def _divided(chain: Sequence[Stage]) -> tuple[int, int]:
    """Returns the number of stages run for all batches, and their examples in one batch."""
    where = _before_one_to_one(chain, len(chain))
    is_batch = where > 1 and steps(chain)[where - 2].groups_evenly
    if not is_batch or batch_depth(chain[:where]) > 1:
        return where, 1
    return _before_one_to_one(chain, where - 1), cast("Any", chain[where - 1]).size


def _before_one_to_one(chain: Sequence[Stage], end: int) -> int:
    while end > 1 and _is_one_to_one(steps(chain)[end - 2]):
        end -= 1
    return end


def _is_one_to_one(step: Step) -> bool:
    # A function that keeps a state must see the same examples as before.
    return step.effect is Effect.EACH and not keeps_state(step.called_function)


def _aligned(state: Mapping[str, Any], run: int) -> dict[str, Any] | None:
    """Returns the state of one share as a state from which any share can resume.

    The checkpoint of one share counts the rows of its own batches. They are converted to rows of
    the stages that all readers run.
    """
    checkpoints = state["place"]
    if len(checkpoints) == 1:
        return None
    identity = {name: value for name, value in state.items() if name not in _OF_A_MOMENT}
    return state_of(identity, _without_skips(checkpoints, run), state["skipped"])


_OF_A_MOMENT: Final = ("place", "digest", "skipped", "checksum")


def _without_skips(checkpoints: Sequence[Sequence[Any]], run: int) -> list[Any]:
    """Returns the checkpoints of a share without the skips of its own stages.

    Args:
        checkpoints: Those of stages with one input follow the checkpoint of `Share`.
        run: The number of rows in one run of a share.
    """
    # Only the checkpoint of `Share` has one number: the number of its rows.
    where = next(i for i in range(len(checkpoints) - 1, 0, -1) if len(checkpoints[i][1]) == 1)
    (count,) = checkpoints[where][1]
    kept: list[Any] = [*checkpoints[:where], [0, [count], 1]]
    skip = 0
    behind = []
    for own, numbers, *_ in reversed(checkpoints[where + 1 :]):
        skip += own
        match numbers:
            case [number, size]:  # Batches.
                behind.append([0, [number + skip * count, size], 1])
                skip *= size
            case _:  # A Python function gives one row for each.
                behind.append([0, numbers, 1])
    skip += checkpoints[where][0]
    first, *rest = kept[where - 1]
    kept[where - 1] = [first + skip // run * run * count, *rest]
    return [*kept, *reversed(behind)]
