"""The origins of the examples in a ledger's steps."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.cli.audit.compare import entries_in
from headrace.cli.failures import Failure
from headrace.cli.replay.steps import Origin
from headrace.ledger import LedgerEntry
from headrace.pipeline import Batches, Pipeline

__all__ = ["ledger_steps"]


def ledger_steps(
    pipeline: Pipeline, path: str, begin: int, end: int | None
) -> Iterator[tuple[int, list[Origin]]]:
    """Yields the number of each step from `begin` to `end` - 1, and the origins of its examples.

    The pipeline runs from the beginning of the epoch, and each step is checked against the ledger.
    Each step consists of the examples that follow the previous ledger entry.

    Args:
        pipeline: The pipeline.
        path: The path of the ledger.
        begin: The number of the first step.
        end: The number after the last step. None for all remaining steps.

    Raises:
        Failure: If the ledger does not have these steps, or the pipeline's data differs from it.
    """
    num_steps, walk = 0, None
    for entry in entries_in(path, 0, end):
        if walk is None or walk.batches.epoch != entry.epoch:
            if walk is not None:
                walk.batches.close()
            walk = _Walk(pipeline, entry.epoch)
        origins = walk.to(entry, path)
        if entry.step >= begin:
            num_steps += 1
            yield entry.step, origins
    if walk is not None:
        walk.batches.close()
    if num_steps == 0:
        raise Failure(f"{path}: the ledger has no step {begin}.")


class _Walk:
    """An iteration over an epoch that advances from one ledger entry to the next."""

    def __init__(self, pipeline: Pipeline, epoch: int) -> None:
        self.batches: Batches = pipeline.replay(None, epoch)

    def to(self, entry: LedgerEntry, path: str) -> list[Origin]:
        """Takes the batches of a step and returns the origins of their examples.

        Raises:
            Failure: If the batches do not match the entry.
        """
        origins: list[Origin] = []
        while self.batches.position < entry.examples:
            if next(self.batches, None) is None:
                break
            origins += [Origin(*origin) for origin in self.batches.origins()]
        if self.batches.position != entry.examples or self.batches.digest() != entry.digest:
            raise Failure(
                f"{path}: step {entry.step} has digest {entry.digest} after {entry.examples} "
                f"examples, but this pipeline has {self.batches.digest()} after "
                f"{self.batches.position}. Use the same pipeline, seeds and files as in that run."
            )
        return origins
