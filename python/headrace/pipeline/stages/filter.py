"""`filter`: keeps the examples for which a function returns true."""

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
    """Keeps the examples for which a function returns true.

    Attributes:
        function: The user's function. It receives an example.
        num_threads: The number of threads that call the function.
        num_processes: The number of worker processes that call the function, or 0 to call it in
            this process.
        holder: Keeps the worker processes between iterations.
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
        """Returns None, because the function determines the number."""

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that calls the function."""
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

        After `batch`, whole batches are kept or dropped. The function receives the same values as
        with `map`.

        Args:
            function: The function to call for each example or batch.
            num_threads: The number of threads that call the function; see `map`.
            num_processes: The number of worker processes that call the function; see `map`.

        Raises:
            TypeError: If the function doesn't accept one argument.
            ValueError: If `num_threads` or `num_processes` is invalid; see `map`.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3, 4]}).filter(lambda example: example["x"] % 2 == 0)
            >>> next(iter(pipe.batch(4)))
            {'x': array([2, 4])}
        """
        check_function("filter", function)
        callers = checked_num_callers("filter", function, num_threads, num_processes)
        return self._then(Filter(function, *callers))
