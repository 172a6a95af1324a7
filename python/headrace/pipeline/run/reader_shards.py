"""Divides the batches of one pipeline among several readers.

Reader `index` of `count` returns every `count`-th batch of the common order. The batches are
divided before batching and before the stages that turn one example into one, so a reader runs these
stages only for its own batches. All earlier stages (reading, filters, windows) run in every reader,
because they determine the order.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, cast

from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.state import resumed, state_of
from headrace.pipeline.stages.components import ChainSpecs, all_sources, batch_depth, steps
from headrace.pipeline.stages.share import Share
from headrace.pipeline.stages.stage import Effect, Stage, Stages, Step

__all__ = ["BEGINNING", "Cursor", "Description", "ShareBatches", "check_shares", "work_of_all"]


class Description(Protocol):
    """The part of a `Pipeline` that this module uses."""

    @property
    def _stages(self) -> Stages:
        """The pipeline's stages."""

    @property
    def _options(self) -> dict[str, Any]:
        """The arguments of `options`."""

    def _learned_specs(self, epoch: int = 0) -> ChainSpecs:
        """Returns the components after each stage, learned from an epoch."""


class Cursor(NamedTuple):
    """A position from which any share can resume: before batch `first` of the common order.

    Attributes:
        first: The number of the batch, from 0.
        state: The state to resume from, as plain data that `json` can serialise, or None for the
            beginning.
    """

    first: int
    state: dict[str, Any] | None


BEGINNING: Final = Cursor(0, None)


def check_shares(where: str, pipe: Description) -> None:
    """Checks that a pipeline yields batches in a fixed order.

    Raises:
        ValueError: If the pipeline yields examples, has no fixed order, or reads a journal.
    """
    if not batch_depth(pipe._stages):
        raise ValueError(
            f"{where}: the pipeline yields examples, expected batches. End it with batch(...)."
        )
    if any(step.left_out for step in steps(pipe._stages)):
        raise ValueError(
            f"{where}: the pipeline has without_steps, but each reader sees only its own batches. "
            "Remove without_steps."
        )
    if any(source.is_growing for source in all_sources(pipe._stages)):
        raise ValueError(
            f"{where}: several readers cannot share a journal. Iterate over the pipeline in the "
            "process that trains."
        )
    if not pipe._options.get("deterministic", True):
        raise ValueError(
            f"{where}: the pipeline has options(deterministic=False), but its order must be "
            "fixed. Remove that option."
        )


def work_of_all(pipe: Description) -> Stages:
    """Returns the stages that every reader runs for all batches, not only for its own."""
    return pipe._stages[: _divided(pipe._stages)[0]]


class ShareBatches:
    """One iteration over the batches `first + index`, `first + index + count` and so on.

    Only one thread at a time may use it.
    """

    def __init__(
        self, pipe: Description, index: int, count: int, epoch: int = 0, cursor: Cursor = BEGINNING
    ) -> None:
        """Starts the threads.

        Args:
            pipe: A pipeline that has passed `check_shares`.
            index: The index of this share, counted from the cursor.
            count: The number of shares.
            epoch: The epoch number, if the pipeline starts at its beginning.
            cursor: The position to start at.
        """
        where, run = _divided(pipe._stages)
        chain = (*pipe._stages[:where], Share(run, index, count), *pipe._stages[where:])
        # To learn this, Python functions are called for the first example of the whole pipeline.
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
        # The number of the next batch.
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
        """The underlying iteration, with its statistics and skipped examples."""
        return self._batches

    def close(self) -> None:
        """Stops the threads."""
        self._batches.close()


def _moved(first_empty_stage: int | None, where: int) -> int | None:
    """Returns the index of a stage after another stage is inserted at index `where`."""
    return (
        first_empty_stage
        if first_empty_stage is None or first_empty_stage < where
        else first_empty_stage + 1
    )


def _divided(chain: Sequence[Stage]) -> tuple[int, int]:
    """Returns how many stages run for all batches, and how many of their examples make a batch."""
    where = _before_one_to_one(chain, len(chain))
    is_batch = where > 1 and steps(chain)[where - 2].groups_evenly
    if not is_batch or batch_depth(chain[:where]) > 1:
        return where, 1
    size = cast("Any", chain[where - 1]).size
    if not isinstance(size, int):
        # The size of a batch depends on its position among those of all readers.
        return where, 1
    return _before_one_to_one(chain, where - 1), size


def _before_one_to_one(chain: Sequence[Stage], end: int) -> int:
    while end > 1 and _is_one_to_one(steps(chain)[end - 2]):
        end -= 1
    return end


def _is_one_to_one(step: Step) -> bool:
    # A function with a state must see the same examples as before.
    return step.effect is Effect.EACH and not keeps_state(step.called_function)


def _aligned(state: Mapping[str, Any], run: int) -> dict[str, Any] | None:
    """Converts the state of one share to a state from which any share can resume.

    The checkpoint of one share counts the rows of its own batches. They are converted to rows of
    the stages that all readers run.
    """
    checkpoints = state["place"]
    if len(checkpoints) == 1:
        return None
    identity = {name: value for name, value in state.items() if name not in _OF_A_MOMENT}
    return state_of(identity, _without_skips(checkpoints, run), state["skipped"])


_OF_A_MOMENT: Final = ("place", "digest", "skipped", "step", "checksum")


def _without_skips(checkpoints: Sequence[Sequence[Any]], run: int) -> list[Any]:
    """Returns a share's checkpoints without the skips of its own stages.

    Args:
        checkpoints: The checkpoints of all stages. Those of stages after `Share` come last.
        run: The number of rows in one run of a share.
    """
    # Only the checkpoint of `Share` consists of one number: the number of its rows.
    where = next(i for i in range(len(checkpoints) - 1, 0, -1) if len(checkpoints[i][1]) == 1)
    (count,) = checkpoints[where][1]
    kept: list[Any] = [*checkpoints[:where], [0, [count], 1]]
    skip = 0
    behind = []
    for own, numbers, *_ in reversed(checkpoints[where + 1 :]):
        skip += own
        match numbers:
            case [number, size]:  # A batch stage.
                behind.append([0, [number + skip * count, size], 1])
                skip *= size
            case _:  # A Python function makes one row from each row.
                behind.append([0, numbers, 1])
    skip += checkpoints[where][0]
    first, *rest = kept[where - 1]
    kept[where - 1] = [first + skip // run * run * count, *rest]
    return [*kept, *reversed(behind)]
