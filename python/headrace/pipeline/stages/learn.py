"""A stand-in for a Python function while its components are learned."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.pipeline.functions.python_functions import LearnFunction, PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning
from headrace.pipeline.values.types import Specs

__all__ = ["Learn"]


@dataclass(frozen=True)
class Learn(KeepsComponents):
    """A function whose results are kept aside; examples stay as they are.

    Attributes:
        stage: The function.
        results: Its results for the examples so far.
        is_start: Whether an iteration follows, for which all worker processes start.
    """

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    stage: FunctionStep
    results: deque[Mapping[str, Any]] = field(default_factory=deque, compare=False, repr=False)
    is_start: bool = False

    @property
    def runs_python(self) -> bool:
        """True: it calls the function."""
        return True

    @property
    def name(self) -> str:
        """Its name in messages: that of the function."""
        return self.stage.name

    @property
    def called_function(self) -> Callable[..., Any]:
        """The function that it calls."""
        return self.stage.function

    def length_after(self, length: float) -> float:
        """Returns how many examples come out of it."""
        return length

    def worker(self, first: ProbeCalls, before: Specs) -> PythonWorker:
        """Returns the work of the threads that call the function."""
        of = self.stage
        return LearnFunction(of.name, of.function, first, of.seed, before, self.results)

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        planning.call(self)
