"""Branches: operations that run only if a condition holds."""

from dataclasses import dataclass
from typing import Optional

from headrace.graph.nodes import Tensor

__all__ = ["Branch"]


@dataclass(frozen=True)
class Branch:
    """One side of a condition.

    Attributes:
        predicate: A bool scalar.
        is_taken_if: The value of the predicate with which this side runs.
        outer: The branch that the condition itself is on; None if it is on none.
    """

    predicate: Tensor
    is_taken_if: bool
    outer: Optional["Branch"]

    @property
    def path(self) -> list["Branch"]:
        """The branches that must be taken for this one to be, itself last."""
        return [*(self.outer.path if self.outer else ()), self]
