"""Ranks with equally many batches: the stages that may follow `shard(even=...)`."""

from collections.abc import Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.stages import Stage

__all__ = ["check_even"]

# Stages that may turn equally many examples into different numbers of examples.
_UNEVEN: Final = (
    stages.Filter,
    stages.FlatMap,
    stages.Unbatch,
    stages.BucketByLength,
    stages.Pack,
    stages.SkipErrors,
    stages.Split,
)


def check_even(chain: Sequence[Stage], stage: Stage) -> None:
    """Checks that ranks with equally many examples keep equally many.

    Args:
        chain: The stages of a pipeline.
        stage: The stage that is to follow them.

    Raises:
        ValueError: If a shard made ranks even, and the stage may leave a different number of
            examples on each.
    """
    if not isinstance(stage, _UNEVEN):
        return
    shard = _even_shard(chain)
    if shard is not None:
        raise ValueError(
            f"{stage.name}: it follows shard(..., even={shard.even!r}), which gives all ranks "
            f"equally many batches, but {stage.name} may leave a different number on each rank. "
            f"Write {stage.name}(...) before shard(...), or omit even."
        )


def _even_shard(chain: Sequence[Stage]) -> stages.Shard | None:
    """Returns a shard that makes ranks even, also within the parts of combinations."""
    for stage in chain:
        if isinstance(stage, stages.Shard) and stage.even is not None:
            return stage
    parts = map(_even_shard, stages.parts_of(chain[0]))
    return next((shard for shard in parts if shard is not None), None)
