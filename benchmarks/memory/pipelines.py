"""Measures the memory of pipelines beside their `memory_bytes`."""

import json
from dataclasses import dataclass

from benchmarks.memory import watching

SHARE = 1.1
"""What a pipeline may hold of its `memory_bytes`, beside the batch that the program has."""


@dataclass(frozen=True)
class Growth:
    """The measured growth of memory.

    Attributes:
        most_bytes: The most by which heaps and stacks had grown.
        batch_bytes: The largest batch.
        num_batches: How many came.
        error: Why there were no more; nothing if the time was over.
    """

    most_bytes: int
    batch_bytes: int
    num_batches: int
    error: str

    def allowed_bytes(self, memory_bytes: int) -> int:
        """Returns how much it may be."""
        return int(memory_bytes * SHARE) + self.batch_bytes


def measure(case: str, window: int, memory_bytes: int, seconds: float) -> Growth:
    """Runs a case in a process of its own.

    Args:
        case: A key of `cases.CASES`.
        window: One of those of the case.
        memory_bytes: As in `options`; 0 for the default.
        seconds: For how long.
    """
    arguments = [case, str(window), str(memory_bytes), "--seconds", str(seconds)]
    most_bytes, line = watching.growth("-m", "benchmarks.memory.iterating", *arguments)
    figures = json.loads(line)
    return Growth(most_bytes, figures["batch_bytes"], figures["batches"], figures.get("error", ""))
