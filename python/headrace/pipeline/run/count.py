"""Counts the examples or batches of a pipeline, by reading them where that is needed."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.lengths import has_known_length, length_after, length_of
from headrace.pipeline.describe.specs import Known, batch_depth
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.plan.functions.function_state import keeps_state
from headrace.pipeline.plan.index_files import index_files
from headrace.pipeline.run.batches import Batches

__all__ = ["count_of"]

_log: Final = logging.getLogger("headrace.pipeline")


def count_of(chain: tuple[Stage, ...], options: Mapping[str, Any], known: Known) -> int:
    """Returns the number of examples, or batches, that the stages give.

    Args:
        chain: The stages.
        options: The limits of the pipeline's resources.
        known: The components after each stage.

    Raises:
        TypeError: If the pipeline is endless.
    """
    try:
        return length_of(chain, index_files(options))
    except TypeError:
        end = _num_read(chain)
    if any(isinstance(stage, stages.Epochs) and stage.count is None for stage in chain[:end]):
        raise TypeError("count: the pipeline has no end, since epochs() has no count.")
    _log.info("count: reading all of %s", " > ".join(stage.name for stage in chain[:end]))
    specs = Known(known.specs[:end], known.parts, first=known.first)
    is_batched = batch_depth(chain[:end]) > 0
    length: float = 0
    with Batches(chain[:end], options, specs, 0) as batches:
        while (given := batches.next_columns()) is not None:
            length += 1 if is_batched else given[0]
    for stage in chain[end:]:
        length = length_after(stage, length)
    if length == float("inf"):
        raise TypeError("count: the pipeline has no end, since epochs() has no count.")
    return int(length)


def _may_differ(stage: Stage) -> bool:
    """Returns whether a stage may give other examples in another epoch."""
    match stage:
        case stages.Shuffle() | stages.Mix():
            return True
        case stages.Map(seed=seed) | stages.FlatMap(seed=seed) if seed is not None:
            return True
        case stages.Map() | stages.Filter() | stages.FlatMap():
            return keeps_state(stage.function)
        case stages.Concat(parts=parts) | stages.Zip(parts=parts):
            return any(_may_differ(stage) for part in parts for stage in part)
    return isinstance(stage, stages.Iterable_)


def _num_read(chain: Sequence[Stage]) -> int:
    """Returns the number of stages that must run; the counts of later ones follow from theirs."""
    end = 1 + max((n for n, s in enumerate(chain) if n and not has_known_length(s)), default=0)
    is_drawn = any(map(_may_differ, chain[:end]))
    epochs = [n for n, stage in enumerate(chain) if isinstance(stage, stages.Epochs)]
    # Epochs with random draws may have different numbers of examples.
    return epochs[-1] + 1 if is_drawn and epochs and epochs[-1] >= end else end
