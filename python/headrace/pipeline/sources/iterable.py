"""`iterable`: examples from a Python iterator."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.core import engine
from headrace.pipeline.functions.iterators import Reiterable, check_factory, check_reiterable
from headrace.pipeline.stages.arguments import check_processes, checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.source import Origin, Source, SourcePlanning
from headrace.pipeline.stages.stage import named
from headrace.pipeline.workers.iterator_pool import IteratorPool
from headrace.pipeline.workers.python_iterables import IterableFunction, SpecProbe

__all__ = ["Iterable_", "iterable"]


@dataclass(frozen=True)
class Iterable_(Source):
    """Examples from a Python iterator.

    Attributes:
        factory: Returns an iterator. With two or more processes, each process calls it for its part
            of the examples.
        num_processes: The number of processes that iterate, or 0 to iterate in this process.
        openings: The iterators created so far.
    """

    factory: Callable[..., Iterable[Mapping[str, Any]]]
    num_processes: int = named(0)
    openings: IteratorPool = field(default_factory=IteratorPool, compare=False, repr=False)

    origin: ClassVar = Origin.ITERATOR

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "iterable"

    @property
    def spec(self) -> None:
        """None, because the components are learned from the first example."""
        return None

    @property
    def called_function(self) -> Callable[..., Any]:
        """The function that returns iterators."""
        return self.factory

    @property
    def num_parallel(self) -> int:
        """1, because one example is read after the other."""
        return 1

    @property
    def described_in_state(self) -> str:
        """The number of processes. It changes the order, because each process yields a part."""
        return f" in {self.num_processes} processes" if self.num_processes > 1 else ""

    @property
    def obstacle(self) -> str:
        """The reason why examples cannot be accessed at random."""
        return "iterable yields its examples only in order"

    @property
    def is_reordered(self) -> bool:
        """False, because there are no files."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because there are no files."""
        return []

    def counts(self) -> None:
        """Returns None, because the length of an iterator is unknown."""

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the examples."""
        of = SpecProbe if planning.is_learning else IterableFunction
        worker = of(self.factory, self.openings, planning.specs)
        return engine.Plan.python_source(planning.python_worker(worker))


def iterable(
    factory: Callable[..., Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]],
    num_processes: int = 0,
) -> Iterable_:
    """Yields the examples of a Python iterator. Examples are dicts of NumPy values.

    Each example is passed on as soon as the iterator yields it.

    Args:
        factory: A function that returns a new iterator. It is called once at the start of each
            epoch. If you read `spec` before you iterate, it is called then, and the next iteration
            continues with that iterator. You can also pass an object that can be iterated several
            times, such as a list of dicts or a `datasets.Dataset`.
        num_processes: The number of worker processes to use, or 0 for none. With 1, the iterator
            runs in another process. With more, each process calls `factory(worker, num_workers)`
            for its part of the examples, where `worker` counts from 0. The processes take turns,
            one example each, and skip those that have finished, so the order is always the same.
            The workers must be able to import `factory`. If they can't, install cloudpickle (`pip
            install headrace[processes]`).

    Raises:
        TypeError: If `factory` is an iterator (which can be read only once), does not yield
            examples, or cannot be called with the arguments that `num_processes` requires.
        ValueError: If `num_processes` is out of range, or the system does not support worker
            processes.

    Examples:
        >>> def squares():
        ...     for number in range(4):
        ...         yield {"number": number, "square": number**2}
        >>> next(iter(hr.iterable(squares).batch(4)))
        {'number': array([0, 1, 2, 3]), 'square': array([0, 1, 4, 9])}
    """
    processes = checked_int("iterable", "num_processes", num_processes, 0)
    if processes:
        check_processes("iterable", processes)
    if not callable(factory):
        if not isinstance(factory, Chain):
            check_reiterable(factory)
        factory = Reiterable(factory)
    check_factory(factory, processes)
    return Iterable_(factory, processes, IteratorPool(processes))
