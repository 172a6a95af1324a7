"""`flat_map`: replaces each example with any number of examples."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from headrace.pipeline.functions.python_functions import FlatMapFunction, PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.arguments import check_function, checked_int, checked_num_callers
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, named
from headrace.pipeline.values.types import Specs

__all__ = ["FlatMap", "FlatMapMethod"]


@dataclass(frozen=True)
class FlatMap(FunctionStep):
    """Replaces each example with all the examples that a function returns for it.

    Attributes:
        function: The user's function. It also receives a generator if there is a seed.
        seed: The seed for the function's random generator, or None if it doesn't need one.
        num_threads: The number of threads that call the function.
        num_processes: The number of worker processes that call the function, or 0 to call it in
            this process.
        holder: Keeps the worker processes between iterations.
    """

    function: Callable[..., Any]
    seed: int | None = None
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.EXPANDS
    use: ClassVar = "flat_map"

    def specs_after(self, specs: Specs) -> Specs | None:
        """Returns the components of a native function's result, or None for a Python function."""
        return None if self.runs_python else self.traced(specs).specs

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None, because the function may return any names."""

    def length_after(self, length: float) -> None:
        """Returns None, because the function determines the number."""

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that calls the function."""
        return FlatMapFunction(self.function, first, self.seed, before, after, self.num_threads)


class FlatMapMethod(Chain):
    """The method `flat_map`."""

    __slots__ = ()

    def flat_map(
        self,
        function: Callable[..., Iterable[Mapping[str, Any]]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Replaces each example with all the examples that a function returns or yields for it.

        The function may return no examples, for example to drop an input.

        Args:
            function: The function to call for each example. It returns or yields dicts with the
                same kinds of values as in `map`.
            seed: If set, the function receives a random generator as its second argument; see
                `map`.
            num_threads: The number of threads that call the function; see `map`.
            num_processes: The number of worker processes that call the function; see `map`.

        Raises:
            TypeError: If the function doesn't accept one argument, or two if `seed` is set.
            ValueError: If the stage follows `batch`, or if `seed`, `num_threads` or `num_processes`
                is invalid.

        Examples:
            >>> def words(example):
            ...     for word in example["text"].split():
            ...         yield {"word": word}
            >>> pipe = hr.arrays({"text": ["to be", "or not"]}).flat_map(words)
            >>> [example["word"] for example in pipe]
            ['to', 'be', 'or', 'not']
        """
        chosen = None if seed is None else checked_int("flat_map", "seed", seed, 0)
        check_function("flat_map", function, seed is not None)
        if batch_depth(self._stages):
            raise ValueError(
                "flat_map: cannot come after batch, because it needs single examples. Call "
                "unbatch() first."
            )
        callers = checked_num_callers("flat_map", function, num_threads, num_processes)
        return self._then(FlatMap(function, chosen, *callers))
