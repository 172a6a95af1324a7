"""Postpones an indexed source's reads until after the stages that only move row numbers."""

from collections.abc import Sequence
from dataclasses import replace

from headrace.pipeline.stages.components import ChainSpecs, source_of, steps
from headrace.pipeline.stages.source import Origin
from headrace.pipeline.stages.stage import Stage

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
    if len(chain) < 2 or source_of(chain).origin is not Origin.ROWS:
        return chain, chain_specs
    has_error_skipper = has_error_skipper or any(step.judges_errors for step in steps(chain))
    end = 2
    for step in steps(chain)[1:]:
        # A stage that counts examples must know which ones were skipped.
        if step.needs_values or (has_error_skipper and step.counts_examples):
            break
        end += 1
    specs = [*[chain_specs.specs[0]] * (end - 1), chain_specs.specs[1], *chain_specs.specs[end:]]
    return [chain[0], *chain[2:end], chain[1], *chain[end:]], replace(chain_specs, specs=specs)
