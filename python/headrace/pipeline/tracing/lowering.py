"""From the graph of a native function to programs."""

from headrace.graph import Operation
from headrace.session.lowering import Lowering
from headrace.session.resources import Resources

__all__ = ["RowLowering"]


class RowLowering(Lowering):
    """Makes programs that have no state. Errors name an operation by its type and its line."""

    def __init__(self) -> None:
        super().__init__(Resources(), rewrites=True)

    def label(self, op: Operation) -> str:
        """Returns what an operation is called in errors."""
        place = op.defined_at
        return f"{op.type} at {place}" if place else op.type
