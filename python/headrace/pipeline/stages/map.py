"""`map`: a function of each example, or of each batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from headrace.pipeline.functions.python_functions import MapFunction, PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.arguments import check_function, checked_int, checked_num_callers
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, named
from headrace.pipeline.values.types import Specs

__all__ = ["Map", "MapMethod"]


@dataclass(frozen=True)
class Map(FunctionStep):
    """A function of each example, or of each batch.

    Attributes:
        function: Also gets a generator if there is a seed.
        seed: The seed of the generators; None for a function that draws nothing.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
    """

    function: Callable[..., Mapping[str, Any]]
    seed: int | None = None
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.EACH
    use: ClassVar = "map"

    @property
    def has_unknown_output(self) -> bool:
        """Whether its components have to be learned from its results."""
        return self.runs_python

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components of a native function."""
        return self.traced(specs).specs

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None: its function may return any names."""

    def length_after(self, length: float) -> float:
        """Returns how many examples come out of it."""
        return length

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the work of the threads that call the function."""
        return MapFunction(
            self.function, first, self.seed, before, after, is_batched, self.num_threads, self.name
        )


class MapMethod(Chain):
    """The method `map`."""

    __slots__ = ()

    def map(
        self,
        function: Callable[..., Mapping[str, Any]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> Self:
        """Replaces each example (after `batch` each batch) by a function's result for it.

        The function gets a dict of NumPy scalars, `bytes` and `str` objects and read-only arrays,
        and returns a dict of such values, with the same names for each example. It is called in
        order, in a separate thread, or by several threads at the same time; results come in order
        all the same. The components that it returns are learned from the first example, in an extra
        call if `spec` is used before an iteration begins and no `cache` follows.

        It may return Python values too, and nothing is rounded: `bool` becomes bool, `int` int64,
        `float` float64 (write `np.float32(x)` for less), alone or in lists whose items have equal
        lengths. An empty list gets the type that the component has in other examples.

        Args:
            function: The function, called for each example, or for each batch.
            seed: With a seed, from 0 to 2^63 - 1, the function gets a `numpy.random.Generator` as
                its second argument. Its draws depend only on the seed, the epoch and the position
                of the example in its source (after `batch` the number of the batch). Two functions
                with one seed get the same draws. A generator that the function keeps continues the
                draws of its example.
            num_threads: The number of threads that call the function at the same time; it must be
                safe to call from several threads then. That helps where it releases Python's global
                lock, as OpenCV, Pillow and NumPy do for large arrays. A state serves any number.
            num_processes: The number of processes that call the function, in place of threads of
                this one; 0 for none. That helps where it holds Python's lock. Arrays and strings go
                there and back through shared memory. Other processes must be able to import the
                function, or cloudpickle must be installed (the extra `processes`).

        Raises:
            TypeError: If the function cannot be called with an example, and with a generator if
                there is a seed.
            ValueError: If `seed` or `num_threads` is out of range, or `num_threads` is more than 1
                for a native function or one that keeps a state.
        """
        chosen = None if seed is None else checked_int("map", "seed", seed, 0)
        check_function("map", function, seed is not None)
        callers = checked_num_callers("map", function, num_threads, num_processes)
        return self._then(Map(function, chosen, *callers))
