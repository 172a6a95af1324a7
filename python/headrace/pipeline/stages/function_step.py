"""The base class of steps that call a user's function."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal

from headrace.core import engine
from headrace.pipeline.functions.native_function import NativeFunction, TracedFunction
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.components import all_steps
from headrace.pipeline.stages.stage import Planning, Stage, Step
from headrace.pipeline.values.types import Specs

__all__ = ["Caller", "FunctionStep", "caller_of", "callers"]


class Caller(Step, is_base=True):
    """A step that calls a function through `Planning.call`."""

    facts: ClassVar[tuple[str, ...]] = (*Step.facts, "called_function")

    needs_values: ClassVar = True
    added_axes: ClassVar = 0
    # Whether the function runs faster on many examples at a time.
    works_in_groups: ClassVar[bool] = False

    @property
    @abstractmethod
    def of(self) -> "FunctionStep":
        """The step that owns the function: this step, or the step that this one stands in for."""

    @abstractmethod
    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that calls the function.

        Args:
            first: The function's results for the first examples.
            before: The components before this step.
            after: The components after this step.
            is_batched: Whether the function receives batches.
        """

    def prepare(self, worker: PythonWorker, indexes: engine.IndexFiles) -> None:
        """Prepares a worker of an iteration. Does nothing unless a subclass overrides it.

        Args:
            worker: The worker that `worker` returned.
            indexes: The index files that the iteration reads and writes.
        """

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.call(self)


class FunctionStep(Caller, is_base=True):
    """A step that calls a function for each example or batch.

    Attributes:
        use: The kind of stage that uses the function.
        function: The user's function. It also receives a generator if there is a seed.
        seed: The seed for the function's random generator, or None if it doesn't need one.
        num_threads: The number of threads that call the function.
        num_processes: The number of worker processes that call the function, or 0 to call it in
            this process.
        holder: Keeps the worker processes between iterations.
    """

    facts: ClassVar[tuple[str, ...]] = (*Caller.facts, "use")

    is_seed_given = True
    use: ClassVar[Literal["map", "filter", "flat_map"]]

    function: Callable[..., Any]
    seed: int | None = None
    num_threads: int
    num_processes: int
    holder: WorkerHolder

    @property
    def of(self) -> "FunctionStep":
        """This step."""
        return self

    @property
    def native(self) -> NativeFunction | None:
        """The function if it is native, otherwise None."""
        return self.function if isinstance(self.function, NativeFunction) else None

    @property
    def draws(self) -> bool:
        """Whether the function receives a random generator."""
        return self.seed is not None

    @property
    def called_function(self) -> Callable[..., Any]:
        """The user's function."""
        return self.function

    @property
    def num_parallel(self) -> int | None:
        """How many threads or processes call the function, or None if the engine runs it."""
        return (self.num_processes or self.num_threads) if self.runs_python else None

    def traced(self, specs: Specs) -> TracedFunction:
        """Returns the native function, traced for these components.

        Args:
            specs: The components of an example.

        Raises:
            TypeError: If the function cannot be traced.
            ValueError: If the engine cannot run it.
        """
        assert self.native is not None
        return self.native.traced(self.use, specs, self.seed)


def caller_of(stage: Stage) -> Caller | None:
    """Returns the stage if it calls a user's function for each example, otherwise None."""
    return stage if isinstance(stage, Caller) else None


def callers(chain: Sequence[Stage]) -> Iterator[Caller]:
    """Yields all steps that call a user's function, starting with those of combined pipelines."""
    return (step for step in map(caller_of, all_steps(chain)) if step is not None)
