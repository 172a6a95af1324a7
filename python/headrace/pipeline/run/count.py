"""Counts the examples or batches of a pipeline, by reading them if necessary."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.lengths import length_after, length_of
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.stages.components import (
    ChainSpecs,
    all_sources,
    all_stages,
    batch_depth,
    steps,
)
from headrace.pipeline.stages.stage import Effect, Stage, Stages

__all__ = ["count_of"]

_log: Final = logging.getLogger("headrace.pipeline")


def count_of(chain: Stages, options: Mapping[str, Any], chain_specs: ChainSpecs) -> int:
    """Returns the number of examples or batches.

    Args:
        chain: The stages.
        options: The pipeline's options.
        chain_specs: The components after each stage.

    Raises:
        TypeError: If the pipeline is endless.
    """
    try:
        return length_of(chain, index_files(options))
    except TypeError:
        end = _num_read(chain)
    if any(step.length_after(1) == math.inf for step in steps(chain[:end])):
        raise TypeError(
            "count: the pipeline is endless, because epochs() has no count. Pass a count, such "
            "as epochs(3)."
        )
    _log.info("count: reading all examples of %s", " > ".join(stage.name for stage in chain[:end]))
    specs = ChainSpecs(chain_specs.specs[:end], chain_specs.parts, first=chain_specs.first)
    is_batched = batch_depth(chain[:end]) > 0
    length: float = 0
    with Batches(chain[:end], options, specs, 0) as batches:
        while (columns := batches.next_columns()) is not None:
            length += 1 if is_batched else columns[0]
    for step in steps(chain)[end - 1 :]:
        length = length_after(step, length)
    if length == math.inf:
        raise TypeError(
            "count: the pipeline is endless, because epochs() has no count. Pass a count, such "
            "as epochs(3)."
        )
    return int(length)


def _may_differ(stage: Stage) -> bool:
    """Returns whether a stage may produce different examples in each epoch."""
    return stage.draws or keeps_state(stage.called_function)


def _num_read(chain: Sequence[Stage]) -> int:
    """Returns how many stages must run. The counts of later stages follow from these."""
    numbered = list(enumerate(steps(chain), 1))
    end = 1 + max((n for n, step in numbered if step.length_after(1) is None), default=0)
    is_drawn = any(map(_may_differ, all_stages(chain[:end]))) or any(
        source.may_wait for source in all_sources(chain)
    )
    epochs = [n for n, step in numbered if step.effect is Effect.REPEATS]
    # Epochs with random draws may have different numbers of examples.
    return epochs[-1] + 1 if is_drawn and epochs and epochs[-1] >= end else end
