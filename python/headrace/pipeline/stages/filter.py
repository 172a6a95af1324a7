"""`filter`: the examples for which a function is true."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from headrace.pipeline.functions.python_functions import FilterFunction, PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.arguments import check_function, checked_num_callers
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, named
from headrace.pipeline.values.types import Specs

__all__ = ["Filter", "FilterMethod"]


@dataclass(frozen=True)
class Filter(FunctionStep):
    """Examples for which a function is true.

    Attributes:
        function: Gets an example.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
    """

    function: Callable[[dict[str, Any]], object]
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.FILTERS
    use: ClassVar = "filter"

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the same components."""
        return specs if self.runs_python else self.traced(specs).specs

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        return names

    def length_after(self, length: float) -> None:
        """Returns None: its function decides."""

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the work of the threads that call the function."""
        return FilterFunction(self.function, first, before, self.num_threads)


class FilterMethod(Chain):
    """The method `filter`."""

    __slots__ = ()

    def filter(
        self,
        function: Callable[[dict[str, Any]], object],
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Keeps the examples for which a function returns true.

        After `batch`, it keeps or drops whole batches. The function is called in the same way as by
        `map`.

        Args:
            function: The function, called for each example or batch.
            num_threads: The number of threads that call it; see `map`.
            num_processes: The number of processes that call it; see `map`.

        Raises:
            TypeError: If the function cannot be called with one example.
            ValueError: If `num_threads` or `num_processes` is invalid, as for `map`.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3, 4]}).filter(lambda example: example["x"] % 2 == 0)
            >>> next(iter(pipe.batch(4)))
            {'x': array([2, 4])}
        """
        check_function("filter", function)
        callers = checked_num_callers("filter", function, num_threads, num_processes)
        return self._then(Filter(function, *callers))
