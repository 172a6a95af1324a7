"""An unfinished plan, and the functions in it that Python threads or processes call."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, cast

from headrace.core import engine
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.native_function import NativeFunction
from headrace.pipeline.describe.specs import Known, Specs, batch_depth
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.plan.functions.first_results import FirstResults
from headrace.pipeline.plan.functions.function_state import keeps_state
from headrace.pipeline.plan.functions.python_functions import (
    FilterFunction,
    First,
    FlatMapFunction,
    LearnFunction,
    MapFunction,
    PythonWorker,
    name_of,
)
from headrace.pipeline.plan.planned import Shared

__all__ = ["FunctionPlanning", "first_called_with"]


class FunctionPlanning:
    """An unfinished plan: `_plan`, followed by the stages `_waiting` for each row."""

    _chain: Sequence[Stage]
    _known: Known
    _specs: Sequence[Specs]
    _shared: Shared
    _plan: engine.Plan
    _waiting: list[engine.Stage]
    _number: int
    _is_fused: bool
    _in_process: list[tuple[int, int]]
    _covered: int
    _num_cached: int

    def _function(self, stage: Stage, index: int, before: Specs, after: Specs) -> None:
        is_batched = batch_depth(self._chain[:index]) > 0
        python_worker: PythonWorker
        match stage:
            case (
                stages.Map(function=NativeFunction())
                | stages.Filter(function=NativeFunction())
                | stages.FlatMap(function=NativeFunction())
            ):
                return self._native(stage, before, is_batched)
            case stages.Map() | stages.Filter() | stages.FlatMap() | stages.Learn() if _learned(
                stage
            ).num_processes:
                self._in_process.append((index, self._number))
                if self._goes_on(index):
                    return None
                python_worker = self._process_functions(is_batched)
            case stages.Map(function=function, seed=seed):
                python_worker = MapFunction(
                    function,
                    self._first(stage, index),
                    seed,
                    before,
                    after,
                    is_batched,
                    stage.num_threads,
                    stage.name,
                )
            case stages.Filter(function=predicate):
                python_worker = FilterFunction(
                    predicate, self._first(stage, index), before, stage.num_threads
                )
            case stages.FlatMap(function=makes, seed=seed):
                python_worker = FlatMapFunction(
                    makes, self._first(stage, index), seed, before, after, stage.num_threads
                )
            case stages.Learn(stage=learned, made=made) as stage:
                python_worker = LearnFunction(
                    learned.name,
                    learned.function,
                    self._first(stage, index),
                    learned.seed,
                    before,
                    made,
                )
            case _:
                raise AssertionError(f"{stage!r} cannot be planned")
        self._finish_waiting()
        are_maps = all(isinstance(self._chain[n], stages.Map) for n, _ in self._in_process)
        num_functions = max(len(self._in_process), 1)
        self._in_process = []
        # A function that keeps a state must see the same examples as before.
        keeps_count = isinstance(stage, stages.Map) and are_maps and not keeps_state(stage.function)
        self._plan = self._plan.map_python(
            self._python_worker(python_worker),
            keeps_count,
            python_worker.num_callers,
            num_functions,
        )
        return None

    def _goes_on(self, index: int) -> bool:
        """Returns whether the next stage runs in the same call of a worker process."""
        # If failures are skipped, a state may lie between two of the stages.
        is_between = self._shared.is_resumed and index < self._covered
        return not is_between and _are_called_together(*self._chain[index : index + 2])

    def _process_functions(self, is_batched: bool) -> PythonWorker:
        """Returns the Python worker of worker processes for the collected neighbouring stages."""
        _open_fork_server()
        # Loaded only if processes are used.
        from headrace.pipeline.workers import process_functions  # noqa: PLC0415

        found, holders = [], []
        for index, number in self._in_process:
            stage = _learned(self._chain[index])
            is_learned = stage is not self._chain[index]
            seed = None if isinstance(stage, stages.Filter) else stage.seed
            kind = cast("Literal['map', 'filter', 'flat_map']", stage.use)
            specs = (self._specs[index - 1], None if is_learned else self._specs[index])
            first = None if is_learned else self._first_results(stage, index)
            found.append(
                process_functions.ProcessStage(
                    kind, stage.name, stage.function, seed, *specs, number, first
                )
            )
            holders.append(stage.holder)
            if index != self._in_process[-1][0]:
                # A state counts functions, in processes too.
                self._shared.python_workers.append(process_functions.DoneByNext(stage.function))
        if isinstance(learn := self._chain[index], stages.Learn):
            # The workers of the stages before run this one, too.
            is_start = learn.is_start and len(found) == 1
            num_started = stage.num_processes if is_start else 1
            first = self._known.first_of(stage)
            return process_functions.LearnInProcess(
                found, stage.num_processes, num_started, holders, learn.made, first
            )
        num_callers = 1 if self._shared.is_learning else None
        return process_functions.ProcessFunctions(
            found, stage.num_processes, is_batched, holders, num_callers
        )

    def _first(self, stage: Stage, index: int) -> First:
        """Returns a function's results for the first examples; an iteration uses them up."""
        of = stage.stage if isinstance(stage, stages.Learn) else stage
        is_drawn = isinstance(of, (stages.Map, stages.FlatMap)) and of.seed is not None
        return First(self._first_results(of, index), is_drawn, self._shared.is_learning)

    def _first_results(self, stage: Stage, index: int) -> FirstResults:
        first = self._known.first_of(stage)
        return first if self._shared.is_learning else first.take(index < self._num_cached)

    def _native(
        self, stage: stages.Map | stages.Filter | stages.FlatMap, before: Specs, is_batched: bool
    ) -> None:
        function = cast("NativeFunction", stage.function)
        seed = None if isinstance(stage, stages.Filter) else stage.seed
        traced = function.traced(stage.use, before, seed)
        self._shared.contents.extend(traced.contents)
        self._later(traced.stage(is_batched))
        if not isinstance(stage, stages.Map):
            self._finish_rows()

    def _later(self, stage: engine.Stage) -> None:
        """Defers a stage that works on single rows."""
        self._waiting.append(stage.metered(self._number))
        self._is_fused = True

    def _finish_rows(self) -> None:
        """Runs the deferred stages here."""
        self._plan = self._plan.map(self._waiting)
        self._waiting = []

    def _finish_waiting(self) -> None:
        """Runs the deferred stages here if there are any; otherwise rows need not become blocks."""
        if self._waiting:
            self._finish_rows()

    def _python_worker(self, python_worker: PythonWorker) -> int:
        if python_worker.initial is not None:
            for other in self._shared.python_workers:
                if other.function is python_worker.function:
                    raise ValueError(
                        f"{name_of(python_worker.function)}: it stands at two places of "
                        "the pipeline and keeps a state, expected an object for each place: each "
                        "has a state of its own. Make another one, or a copy."
                    )
        self._shared.python_workers.append(python_worker)
        number = len(self._shared.python_workers) - 1
        counted = self._shared.counted
        counted[self._number] = replace(counted[self._number], python_worker=number)
        return number


_Calling: TypeAlias = "stages.Map | stages.Filter | stages.FlatMap"


def _learned(stage: Stage) -> _Calling:
    """Returns the stage whose components are learned, or else the stage itself."""
    return cast("_Calling", stage.stage if isinstance(stage, stages.Learn) else stage)


def _are_called_together(stage: Stage, after: Stage | None = None) -> bool:
    """Returns whether a stage and the next one run in the same call of a worker process."""
    after = None if after is None else _learned(after)
    return (
        isinstance(stage, stages.Map)
        and isinstance(after, (stages.Map, stages.Filter, stages.FlatMap))
        and after.num_processes == stage.num_processes > 0
    )


def first_called_with(chain: Sequence[Stage]) -> int:
    """Returns the place of the first stage that runs in the same call as the last one."""
    first = len(chain) - 1
    while first > 0 and _are_called_together(chain[first - 1], chain[first]):
        first -= 1
    return first


def _open_fork_server() -> None:
    """Starts the process that forks workers: it loads their modules while this one plans."""
    from headrace.pipeline.workers.fork_server import fork_server  # noqa: PLC0415

    fork_server().open()
