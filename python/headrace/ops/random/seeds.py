"""The seeds of operations that draw numbers."""

from typing import Any

from headrace.graph import get_seed

__all__ = ["seed_attrs"]


def seed_attrs(seed: int | None) -> dict[str, Any]:
    """Returns the seeds of an operation as attributes: 0 and 0 if it has none."""
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}
