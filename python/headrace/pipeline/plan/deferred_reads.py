"""Postpones reads of rows and videos until after the stages that only move row numbers."""

from collections.abc import Sequence
from dataclasses import replace

from headrace.pipeline.stages.components import ChainSpecs, source_of, steps
from headrace.pipeline.stages.source import Origin
from headrace.pipeline.stages.split_by import SplitBy
from headrace.pipeline.stages.stage import Stage, Step

__all__ = ["defer_reads"]


def defer_reads(
    chain: Sequence[Stage], chain_specs: ChainSpecs, has_error_skipper: bool
) -> tuple[Sequence[Stage], ChainSpecs]:
    """Returns equivalent stages that read only the rows that remain.

    Args:
        chain: The stages.
        chain_specs: The components after each stage.
        has_error_skipper: Whether a later stage skips failing examples.
    """
    read = _reading_step(chain)
    if read is None:
        return chain, chain_specs
    has_error_skipper = has_error_skipper or any(step.judges_errors for step in steps(chain))
    end = read + 1
    for step in steps(chain)[read:]:
        # A stage that counts examples must know which ones were skipped.
        needs_values = step.needs_values and not _can_split_first(step, steps(chain)[read - 1])
        if needs_values or (has_error_skipper and step.counts_examples):
            break
        end += 1
    specs = chain_specs.specs
    moved = [*specs[:read], *[specs[read - 1]] * (end - read - 1), specs[read], *specs[end:]]
    later = [*chain[:read], *chain[read + 1 : end], chain[read], *chain[end:]]
    return later, replace(chain_specs, specs=moved)


def _can_split_first(step: Step, reading_step: Step) -> bool:
    """Returns whether a step splits by a value that is known before anything is read."""
    return isinstance(step, SplitBy) and reading_step.keeps_component(step.by)


def _reading_step(chain: Sequence[Stage]) -> int | None:
    """Returns the index of the step that reads rows or videos; None if there is none."""
    if source_of(chain).origin is Origin.ROWS and len(chain) > 1:
        return 1
    return next((n for n, step in enumerate(steps(chain), 1) if step.reads_late), None)
