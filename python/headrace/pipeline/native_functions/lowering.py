"""Compiles a native function's graph to programs."""

from headrace.core import engine
from headrace.graph import KernelKind, Operation
from headrace.graph.lowering.lowering import Lowering
from headrace.graph.lowering.resources import Resources

__all__ = ["RowLowering"]


class RowLowering(Lowering):
    """Compiles stateless programs. Errors name operations by their type and line.

    Args:
        seed: The seed for random operations, or None if there are none.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(Resources(), rewrites=True)
        self._seed = seed
        # The random operations, in the order of their creation.
        self._random: dict[Operation, engine.RandomGenerator] = {}

    @property
    def is_random(self) -> bool:
        """Whether there are random operations."""
        return bool(self._random)

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns a random generator for an operation, with separate draws for each row."""
        if op not in self._random:
            assert self._seed is not None  # `TracedGraph` rejects random operations without a seed.
            generator = engine.RandomGenerator.of_rows(self._seed, len(self._random))
            self._random[op] = generator
        return self._random[op]

    def is_by_numpy(self, op: Operation) -> bool:
        """Returns whether only NumPy can compute an operation."""
        return op.definition.computed_by(op) is KernelKind.BY_NUMPY

    def label(self, op: Operation) -> str:
        """Returns an operation's name, for errors."""
        location = op.defined_at
        return f"{op.type} at {location}" if location else op.type
