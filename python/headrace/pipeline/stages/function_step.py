"""The common base of steps that call a function of the user."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal

from headrace.pipeline.functions.native_function import NativeFunction, TracedFunction
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.components import all_steps
from headrace.pipeline.stages.stage import Planning, Stage, Step
from headrace.pipeline.values.types import Specs

__all__ = ["Caller", "FunctionStep", "caller_of", "callers"]


class Caller(Step, is_base=True):
    """A step that calls a function, which a plan runs by `Planning.call`."""

    facts: ClassVar[tuple[str, ...]] = (*Step.facts, "called_function")

    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    @abstractmethod
    def of(self) -> "FunctionStep":
        """The step whose function it calls: itself, or the one whose results it keeps aside."""

    @abstractmethod
    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the work of the threads that call the function.

        Args:
            first: Its results for the first examples.
            before: The components before it.
            after: The components after it.
            is_batched: Whether it gets batches.
        """

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        planning.call(self)


class FunctionStep(Caller, is_base=True):
    """A step that calls a function for each example, or for each batch.

    Attributes:
        use: What the function is used for.
        function: The function; it also gets a generator if there is a seed.
        seed: The seed of the generators; None for a function that draws nothing.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
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
        """The step itself."""
        return self

    @property
    def native(self) -> NativeFunction | None:
        """The function, if the engine computes it."""
        return self.function if isinstance(self.function, NativeFunction) else None

    @property
    def draws(self) -> bool:
        """Whether its function gets a generator."""
        return self.seed is not None

    @property
    def called_function(self) -> Callable[..., Any]:
        """The function that it calls."""
        return self.function

    @property
    def num_parallel(self) -> int | None:
        """The number of threads or processes that call it; None for those of the engine."""
        return (self.num_processes or self.num_threads) if self.runs_python else None

    def traced(self, specs: Specs) -> TracedFunction:
        """Returns the native function for the components of an example.

        Args:
            specs: The components.

        Raises:
            TypeError: If it cannot be traced.
            ValueError: If the engine cannot compute it.
        """
        assert self.native is not None
        return self.native.traced(self.use, specs, self.seed)


def caller_of(stage: Stage) -> Caller | None:
    """Returns the stage if it calls a function of the user for each example; None otherwise."""
    return stage if isinstance(stage, Caller) else None


def callers(chain: Sequence[Stage]) -> Iterator[Caller]:
    """Yields all steps that call a function of the user, those of combined pipelines first."""
    return (step for step in map(caller_of, all_steps(chain)) if step is not None)
