"""States of iterations that are ahead of the loop of the program."""

from typing import Any

from headrace.pipeline.batches import Batches

__all__ = ["state_of"]


def state_of(batches: Batches) -> dict[str, Any] | None:
    """Returns where an iteration stands; None if it has no order, and so no state."""
    return batches.state() if batches.is_deterministic else None
