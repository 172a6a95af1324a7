"""Late reads of an indexed source: rows are read after the stages that only move their numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.specs import Known
from headrace.pipeline.describe.stages import Stage

__all__ = ["read_late"]

# Stages that move numbers of rows. Those of the second list count examples, so their result depends
# on which ones were skipped.
_MOVING: Final = (stages.Shuffle, stages.Split, stages.Epochs, stages.Prefetch)
_COUNTING: Final = (stages.Take, stages.Skip, stages.Shard, stages.Share)


def read_late(
    chain: Sequence[Stage], known: Known, is_covered: bool
) -> tuple[Sequence[Stage], Known]:
    """Returns equivalent stages that read only the rows that remain.

    Args:
        chain: The stages.
        known: The components after each of them.
        is_covered: True if failing examples are skipped by a stage after all of these.
    """
    if len(chain) < 2 or not isinstance(chain[1], stages.ReadRows):
        return chain, known
    is_covered = is_covered or any(isinstance(stage, stages.SkipErrors) for stage in chain)
    moving = _MOVING if is_covered else (*_MOVING, *_COUNTING)
    end = 2
    while end < len(chain) and isinstance(chain[end], moving):
        end += 1
    specs = [*[known.specs[0]] * (end - 1), known.specs[1], *known.specs[end:]]
    return [chain[0], *chain[2:end], chain[1], *chain[end:]], replace(known, specs=specs)
