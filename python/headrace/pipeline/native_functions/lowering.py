"""Lowering of the graph of a native function to programs."""

from headrace.core import engine
from headrace.graph import KernelKind, Operation
from headrace.graph.lowering.lowering import Lowering
from headrace.graph.lowering.resources import Resources

__all__ = ["RowLowering"]


class RowLowering(Lowering):
    """Compiles programs that have no state. Errors name an operation by its type and its line.

    Args:
        seed: The seed of random operations; None if there are none.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(Resources(), rewrites=True)
        self._seed = seed
        # The random operations, in the order in which they were added.
        self._random: dict[Operation, engine.RandomGenerator] = {}

    @property
    def is_random(self) -> bool:
        """True if there are random operations."""
        return bool(self._random)

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns the source of separate random draws of each row for an operation."""
        if op not in self._random:
            assert self._seed is not None  # `TracedGraph` refuses the operation.
            generator = engine.RandomGenerator.of_rows(self._seed, len(self._random))
            self._random[op] = generator
        return self._random[op]

    def is_by_numpy(self, op: Operation) -> bool:
        """Returns whether only NumPy computes an operation."""
        return op.definition.computed_by(op) is KernelKind.BY_NUMPY

    def label(self, op: Operation) -> str:
        """Returns the name of an operation in errors."""
        location = op.defined_at
        return f"{op.type} at {location}" if location else op.type
