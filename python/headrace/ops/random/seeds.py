"""Seeds of random operations."""

from typing import Any

from headrace.graph import get_seed

__all__ = ["seed_attrs"]


def seed_attrs(seed: int | None) -> dict[str, Any]:
    """Returns an operation's seeds as attributes. If it has no seeds, both are 0."""
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}
