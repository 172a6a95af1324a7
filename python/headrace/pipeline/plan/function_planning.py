"""A plan under construction, and the Python functions in it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from headrace.core import engine
from headrace.pipeline.functions.cached_probe_results import CachedProbeResults
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.functions.iterators import name_of
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.plan.pipeline_plan import MeteredStage, SharedState
from headrace.pipeline.stages.components import ChainSpecs, batch_depth
from headrace.pipeline.stages.function_step import Caller, FunctionStep, caller_of
from headrace.pipeline.stages.learn import Learn
from headrace.pipeline.stages.stage import Effect, OrderStage, Stage
from headrace.pipeline.values.types import Specs

__all__ = ["FunctionPlanning", "first_called_with"]


class FunctionPlanning:
    """A plan under construction: `plan`, plus the deferred work on single rows.

    Attributes:
        plan: The plan of the preceding stages, without their deferred work.
        chain: All stages.
        index: The index of the stage that is being added.
        number: The number under which the stage's work is measured.
        turn: The index of this share and the number of shares. The batches of the shares alternate.
        num_ready: The maximum number of results that wait for the consumer.
        ordered_by: The stage that needs random access to the source, if any.
    """

    chain: Sequence[Stage]
    index: int
    number: int
    plan: engine.Plan
    turn: tuple[int, int]
    num_ready: int
    ordered_by: OrderStage | None
    _chain_specs: ChainSpecs
    _specs: Sequence[Specs]
    _shared: SharedState
    _waiting: list[engine.Stage]
    _is_fused: bool
    # The stages collected for one call of a worker process, with their indexes in the chain and
    # their numbers.
    _in_process: list[tuple[int, int]]
    _skipper_index: int
    _num_cached: int

    def call(self, step: Caller) -> None:
        """Calls a step's function for each row."""
        of, is_learned = step.of, step.of is not step
        index = self.index
        is_batched = batch_depth(self.chain[:index]) > 0
        before, after = self._specs[index - 1], self._specs[index]
        if of.native is not None and not is_learned:
            traced = of.traced(before)
            self._shared.contents.extend(traced.contents)
            self.later(traced.stage(is_batched))
            if of.effect is not Effect.EACH:
                self.finish_rows()
            return
        if of.num_processes:
            self._in_process.append((index, self.number))
            if self._goes_on(index):
                return
            worker = self._process_functions(is_batched)
        else:
            worker = step.worker(self._first(of, index), before, after, is_batched)
            step.prepare(worker, self._shared.indexes)
        self.finish_waiting()
        called = [cast("Caller", self.chain[n]) for n, _ in self._in_process] or [step]
        num_functions = len(called)
        self._in_process = []
        # A function with a state must see the same examples as before.
        is_one_to_one = all(
            one.of is one and one.effect is Effect.EACH for one in called
        ) and not keeps_state(of.function)
        self.plan = self.plan.map_python(
            self.python_worker(worker),
            is_one_to_one,
            worker.num_callers,
            num_functions,
            of.num_processes > 0,
            step.works_in_groups,
        )

    def _goes_on(self, index: int) -> bool:
        """Returns whether the next stage runs in the same call of a worker process."""
        # If errors are skipped, a saved position can be between the two stages.
        is_between = self._shared.is_resumed and index < self._skipper_index
        return not is_between and _are_called_together(*self.chain[index : index + 2])

    def _process_functions(self, is_batched: bool) -> PythonWorker:
        """Returns the worker that calls the collected functions in other processes."""
        _open_fork_server()
        # This is imported here, because it is needed only for worker processes.
        from headrace.pipeline.workers import process_functions  # noqa: PLC0415

        functions, holders = [], []
        for index, number in self._in_process:
            step = cast("Caller", self.chain[index])
            of, is_learned = step.of, step.of is not step
            specs = (self._specs[index - 1], None if is_learned else self._specs[index])
            first = None if is_learned else self._first_results(of, index)
            functions.append(
                process_functions.ProcessStage(
                    of.use, of.name, of.function, of.seed, *specs, number, first
                )
            )
            holders.append(of.holder)
            if index != self._in_process[-1][0]:
                # States list all functions in order, including those in worker processes.
                self._shared.python_workers.append(process_functions.FusedStage(of.function))
        if is_learned:
            learn = cast("Learn", step)
            # This function runs in the workers of the stages before it.
            is_start = learn.is_start and len(functions) == 1
            num_started = of.num_processes if is_start else 1
            first = self._chain_specs.first_of(of)
            return process_functions.LearnInProcess(
                functions, of.num_processes, num_started, holders, learn.results, first
            )
        num_callers = 1 if self._shared.is_learning else None
        return process_functions.ProcessFunctions(
            functions, of.num_processes, is_batched, holders, num_callers
        )

    def _first(self, of: FunctionStep, index: int) -> ProbeCalls:
        """Returns a function's results for the first examples. An iteration consumes them."""
        return ProbeCalls(self._first_results(of, index), of.draws, self._shared.is_learning)

    def _first_results(self, of: FunctionStep, index: int) -> CachedProbeResults:
        first = self._chain_specs.first_of(of)
        return first if self._shared.is_learning else first.take(index < self._num_cached)

    def later(self, work: engine.Stage, part: str = "") -> None:
        """Defers work on single rows. If it is a part of a source, it is measured separately."""
        number = self.number
        if part:
            counted = self._shared.counted
            if counted[-1].part != part:
                counted.append(MeteredStage(self.chain[0], part=part))
            number = len(counted) - 1
        self._waiting.append(work.metered(number))
        self._is_fused = True

    def finish_rows(self) -> None:
        """Runs the deferred work at this point."""
        self.plan = self.plan.map(self._waiting)
        self._waiting = []

    def finish_waiting(self) -> None:
        """Runs the deferred work at this point, if there is any.

        Unlike `finish_rows`, it does not convert rows to blocks if nothing was deferred.
        """
        if self._waiting:
            self.finish_rows()

    def python_worker(self, worker: PythonWorker) -> int:
        """Adds a Python function's worker and returns its number."""
        if worker.initial is not None:
            for other in self._shared.python_workers:
                if other.function is worker.function:
                    raise ValueError(
                        f"{name_of(worker.function)}: this function has state, but the pipeline "
                        "uses it in two places. Create a separate object for each place."
                    )
        self._shared.python_workers.append(worker)
        number = len(self._shared.python_workers) - 1
        counted = self._shared.counted
        counted[self.number] = replace(counted[self.number], python_worker=number)
        return number


def _are_called_together(stage: Stage, after: Stage | None = None) -> bool:
    """Returns whether two neighbouring stages run in the same call of a worker process."""
    step, other = caller_of(stage), None if after is None else caller_of(after)
    if step is None or other is None or step.of is not step or step.effect is not Effect.EACH:
        return False
    return other.of.num_processes == step.of.num_processes > 0


def first_called_with(chain: Sequence[Stage]) -> int:
    """Returns the index of the first stage that runs in the same call as the last one."""
    first = len(chain) - 1
    while first > 0 and _are_called_together(chain[first - 1], chain[first]):
        first -= 1
    return first


def _open_fork_server() -> None:
    """Starts the fork server early. It then imports the workers' modules during planning."""
    from headrace.pipeline.workers.fork_server import fork_server  # noqa: PLC0415

    fork_server().open()
