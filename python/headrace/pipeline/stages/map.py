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

    def specs_after(self, specs: Specs) -> Specs | None:
        """Returns the components of a native function; None for one of Python."""
        return None if self.runs_python else self.traced(specs).specs

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
        """Replaces each example with the result of a function, or each batch after `batch`.

        The function receives a dict of NumPy scalars, read-only arrays, `bytes` and `str`. It
        returns a dict of such values, with the same names for every example. The result of the
        first example determines the components. If you read `spec` before you iterate, the function
        is called once more for this, unless a `cache` follows.

        The function runs in its own thread and is called in the order of the examples. With
        `num_threads` or `num_processes`, several calls run at the same time. Results come in the
        original order in either case.

        Python values are converted without rounding: `bool` to bool, `int` to int64 and `float` to
        float64. Return `np.float32(x)` for a smaller type. Lists of these values become arrays, so
        their items need equal lengths. An empty list has the type that the component has in other
        examples.

        Args:
            function: The function, called for each example or batch. Decorate it with `native` to
                run it without Python.
            seed: If set, the function receives a `numpy.random.Generator` as its second argument.
                The random numbers depend only on the seed, the epoch and the position of the
                example in its source, or the number of the batch. Two functions with the same seed
                get the same numbers. From 0 to 2^63 - 1.
            num_threads: The number of threads that call the function at the same time. More threads
                help if the function releases Python's global lock, as OpenCV, Pillow and NumPy do
                for large arrays. The function must then be thread-safe. You can resume with a
                different number.
            num_processes: The number of worker processes that call the function instead of threads;
                0 for none. Processes help if the function holds Python's global lock. Arrays and
                strings are passed in shared memory. Workers must be able to import the function. If
                they can't, install cloudpickle (the extra `processes`).

        Raises:
            TypeError: If the function cannot be called with one example, or with an example and a
                generator if `seed` is set.
            ValueError: If a number is out of range, or both `num_threads` and `num_processes` are
                set. Also if one of them is set for a native function or for a function with a
                state.

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
