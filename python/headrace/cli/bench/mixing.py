"""Counts the source files of the first examples after a shuffle."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import NamedTuple

from headrace.pipeline import Pipeline
from headrace.pipeline.plan.mixing_estimate import FIRST
from headrace.pipeline.stages.components import batch_depth, steps
from headrace.pipeline.stages.stage import Effect, Stage
from headrace.pipeline.stages.with_origin import OriginFiles

__all__ = ["Mixing", "measured_mixing"]


class Mixing(NamedTuple):
    """The files that the first examples after a pipeline's last shuffle come from.

    Attributes:
        num_examples: The number of examined examples.
        num_files: The number of files that these examples come from.
        of_files: The total number of files that the pipeline reads.
    """

    num_examples: int
    num_files: int
    of_files: int


def measured_mixing(pipe: Pipeline, files: Sequence[str], most_seconds: float) -> Mixing | None:
    """Counts the files that the first examples after the last shuffle come from.

    Functions directly before the shuffle are not called, because they do not change the order.

    Args:
        pipe: The pipeline.
        files: The files that the pipeline reads.
        most_seconds: The time limit in seconds.

    Returns: The counts, or None if the pipeline does not shuffle examples from several files,
        or no example arrives in time.
    """
    chain = _up_to_shuffle(pipe._stages)
    if chain is None or len(files) < 2:
        return None
    counted = Pipeline((*chain, OriginFiles()), pipe._options)
    results: list[str] = []
    end = time.monotonic() + most_seconds
    with iter(counted) as examples:
        for example in itertools.islice(examples, FIRST):
            results.append(example["file"])
            if time.monotonic() > end:
                break
    # Examples that do not come from a file have an empty name.
    return Mixing(len(results), len(set(filter(None, results))), len(files)) if results else None


def _up_to_shuffle(chain: Sequence[Stage]) -> tuple[Stage, ...] | None:
    """Returns the stages up to the last shuffle of examples, or None if there is no shuffle."""
    indices = [n for n, step in enumerate(steps(chain), 1) if step.effect is Effect.REORDERS]
    if not indices or batch_depth(chain[: indices[-1]]) > 0:
        return None
    before = list(chain[: indices[-1]])
    # Stages that make one example from each example do not affect the order.
    while len(before) > 1 and steps(before)[-1].effect is Effect.EACH:
        before.pop()
    return (*before, chain[indices[-1]])
