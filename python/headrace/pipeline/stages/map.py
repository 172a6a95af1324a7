"""`map`: calls a function for each example or batch."""

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
    """Replaces each example or batch with the result of a function.

    Attributes:
        function: The user's function. It also receives a generator if there is a seed.
        seed: The seed for the function's random generator, or None if it doesn't need one.
        num_threads: The number of threads that call the function.
        num_processes: The number of worker processes that call the function, or 0 to call it in
            this process.
        holder: Keeps the worker processes between iterations.
    """

    function: Callable[..., Mapping[str, Any]]
    seed: int | None = None
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.EACH
    use: ClassVar = "map"

    def specs_after(self, specs: Specs) -> Specs | None:
        """Returns the components of a native function's result, or None for a Python function."""
        return None if self.runs_python else self.traced(specs).specs

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None, because the function may return any names."""

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that calls the function."""
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
        """Replaces each example (or batch, after `batch`) with the result of a function.

        The function receives a dict of NumPy scalars, read-only arrays, `bytes` and `str`. It
        returns a dict of such values, with the same names for every example. The first result
        determines the components. If you read `spec` before you iterate, the function is called one
        more time, unless a `cache` follows.

        The function runs in its own thread, and is called in the order of the examples. If you set
        `num_threads` or `num_processes`, calls run in parallel. The results keep the original order
        in either case.

        Python values are converted without rounding: `bool` to bool, `int` to int64 and `float` to
        float64. Return `np.float32(x)` if you want a smaller type. Lists of these values become
        arrays, so nested lists must have equal lengths. An empty list has the type that the
        component has in other examples.

        Args:
            function: The function to call for each example or batch. Decorate it with `native` to
                run it without Python.
            seed: If set, the function receives a `numpy.random.Generator` as its second argument.
                Its random numbers depend only on the seed, the epoch and the example's position in
                its source (or the batch number). Two functions with the same seed get the same
                numbers. Must be between 0 and 2^63 - 1.
            num_threads: The number of threads that call the function in parallel. More threads help
                if the function releases the GIL, as OpenCV, Pillow and NumPy do for large arrays.
                The function must then be thread-safe. You can change this number when you resume.
            num_processes: The number of worker processes that call the function instead of threads,
                or 0 for none. Processes help if the function holds the GIL. Arrays and strings are
                passed through shared memory. The workers must be able to import the function. If
                they can't, install cloudpickle (`pip install headrace[processes]`).

        Raises:
            TypeError: If the function doesn't accept one argument, or two if `seed` is set.
            ValueError: If a number is out of range, or both `num_threads` and `num_processes` are
                set, or if one of them is set for a native function or a function with a state.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3]}).map(lambda example: {"double": 2 * example["x"]})
            >>> next(iter(pipe.batch(3)))
            {'double': array([2, 4, 6])}

            With a seed, the function receives a random generator:

            >>> def add_noise(example, rng):
            ...     return {"x": example["x"] + rng.normal()}
            >>> noisy = hr.arrays({"x": [0.0, 0.0]}).map(add_noise, seed=7)
            >>> first, second = ([float(example["x"]) for example in noisy] for _ in range(2))
            >>> first == second
            True
        """
        chosen = None if seed is None else checked_int("map", "seed", seed, 0)
        check_function("map", function, seed is not None)
        callers = checked_num_callers("map", function, num_threads, num_processes)
        return self._then(Map(function, chosen, *callers))
