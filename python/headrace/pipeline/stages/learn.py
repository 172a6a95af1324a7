"""A stand-in for a Python function while its components are being learned."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.pipeline.functions.python_functions import LearnFunction, PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.stages.function_step import Caller, FunctionStep
from headrace.pipeline.stages.stage import Effect, KeepsComponents
from headrace.pipeline.values.types import Specs

__all__ = ["Learn"]


@dataclass(frozen=True)
class Learn(KeepsComponents, Caller):
    """Calls a function and sets its results aside. The examples do not change.

    Attributes:
        stage: The step that owns the function.
        results: The function's results for the examples so far.
        is_start: Whether an iteration starts next, so all its worker processes are started.
    """

    effect: ClassVar = Effect.EACH

    stage: FunctionStep
    results: deque[Mapping[str, Any]] = field(default_factory=deque, compare=False, repr=False)
    is_start: bool = False

    @property
    def name(self) -> str:
        """The stage's name in messages: the name of the function's step."""
        return self.stage.name

    @property
    def of(self) -> FunctionStep:
        """The step whose results are set aside."""
        return self.stage

    @property
    def called_function(self) -> Callable[..., Any]:
        """The user's function."""
        return self.stage.function

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that calls the function."""
        of = self.stage
        return LearnFunction(of.name, of.function, first, of.seed, before, self.results)
