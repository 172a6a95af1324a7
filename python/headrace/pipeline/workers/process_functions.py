"""Python functions that worker processes call. Imported when a pipeline uses processes.

Several threads serve each worker process. A thread sends a block, waits, and passes on the results.
Blocks, order, errors and states are therefore the same as for functions called in threads. A worker
already has its next block when it replies to the previous one.
"""

import itertools
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from headrace.core import engine
from headrace.pipeline.functions.cached_probe_results import CachedProbeResults, key_of
from headrace.pipeline.functions.python_functions import RunningCalls, name_of, noted
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.values.column_conversion import (
    batches_of,
    check_components,
    column_of,
    lists_of,
)
from headrace.pipeline.values.nested import nested_column, nested_value
from headrace.pipeline.values.python_values import spec_of
from headrace.pipeline.values.types import Spec, Specs, carried, engine_code
from headrace.pipeline.values.unchanged import Unchanged
from headrace.pipeline.workers.calls import Failure, Step
from headrace.pipeline.workers.main_module import Surroundings
from headrace.pipeline.workers.remote import (
    NUM_PLACES,
    Place,
    Processes,
    RemoteWorker,
    WorkerEnded,
    columns_of,
    row_ids_of,
)
from headrace.pipeline.workers.sending import packed_functions
from headrace.pipeline.workers.shared_arrays import Arena, Layout, strings_at
from headrace.pipeline.workers.worker import ResultMessage, RowsMessage, StagesMessage

__all__ = ["FusedStage", "LearnInProcess", "ProcessFunctions", "ProcessStage"]

# How often to send a block to another worker if workers end before their first call.
_MOST_RESTARTS: Final = 3
_numbers: Final = itertools.count()


@dataclass(frozen=True)
class ProcessStage:
    """A stage whose function is called in worker processes.

    Attributes:
        kind: "map", "filter" or "flat_map".
        name: The stage's name, for messages.
        function: The user's function.
        seed: The seed for the function's random generators, or None if it doesn't need them.
        input_specs: The input components.
        output_specs: The components of the results, or None while they are being learned.
        number: The number under which the stage is measured.
        first: The function's result for the first example, cached when its components were learned.
    """

    kind: Literal["map", "filter", "flat_map"]
    name: str
    function: Callable[..., Any]
    seed: int | None
    input_specs: Specs
    output_specs: Specs | None
    number: int
    first: CachedProbeResults | None = None

    @property
    def where(self) -> str:
        """The stage and its function, for messages."""
        return f"{self.name}({name_of(self.function)})"

    def step(self) -> Step:
        """Converts the stage to the form that workers receive."""
        first = self.first if self.first and all(map(_is_plain, self.first.all_results())) else None
        return Step(self.kind, self.where, self.seed, self.input_specs, self.output_specs, first)


def _is_plain(result: Any) -> bool:
    """Returns whether a function's result can be sent unchanged."""
    items = result if isinstance(result, list) else [result]
    plain = (str, bytes, bool, int, float, complex, np.ndarray, np.generic, Unchanged)
    return all(
        type(item) is dict and all(isinstance(value, plain) for value in item.values())
        for item in items
    )


class _Calls:
    """A worker process's calls for a block; see `RunningCalls`."""

    def __init__(self, job: engine.Job, stages: Sequence[ProcessStage]) -> None:
        self._job = job
        self._stages = stages
        self.since = time.monotonic()
        # The worker, and the number of the block there.
        self.sent: tuple[RemoteWorker, int] | None = None
        self.has_started = False

    @property
    def number(self) -> int:
        """The number of the worker's current row."""
        return (self._call() or (0, 0))[0]

    @property
    def where(self) -> str:
        """The worker's current stage and its function, for messages."""
        return self._stages[(self._call() or (0, 0))[1]].where

    @property
    def doing(self) -> str | None:
        """See `RunningCalls`. Starting a worker includes importing the functions' modules."""
        call = self._call()
        if call is None:
            if self.sent is not None and self.sent[0].call_status.is_calling():
                return None  # The worker works on another block first.
            what = "communicating with" if self.has_started else "starting"
            return f"{what} its worker process"
        return f"the call for {self._job.origin(call[0]) or f'example {call[0]} of a block'}"

    def _call(self) -> tuple[int, int] | None:
        sent = self.sent
        return None if sent is None else sent[0].call_status.call(sent[1])


class _Turns:
    """Makes threads send blocks in the order in which they received them."""

    def __init__(self) -> None:
        self._changed: Final = threading.Condition()
        # The number of the next block to send, and the numbers of later blocks that are done
        # already.
        self._next = 0
        self._ended: set[int] = set()
        self._is_over = False

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """Waits for a block's turn. The turn ends with the context."""
        with self._changed:
            self._changed.wait_for(lambda: self._next >= number or self._is_over)
        try:
            yield
        finally:
            self.end(number)

    def end(self, number: int) -> None:
        """Ends the turn of a block, whether it was sent or not."""
        with self._changed:
            if number < self._next:
                return
            self._ended.add(number)
            while self._next in self._ended:
                self._ended.remove(self._next)
                self._next += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Wakes all threads."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class FusedStage:
    """A placeholder for a stage that runs in the same call as the next one and has no thread."""

    num_callers = 0
    initial = None

    def __init__(self, function: object) -> None:
        self.running: dict[int, RunningCalls] = {}
        self.is_over = False
        self.function = function

    def process(self, job: engine.Job) -> None:
        """Raises an error, because it is never called."""
        raise AssertionError("a stage without threads has no tasks")


class ProcessFunctions:
    """The functions of neighbouring stages. A worker process calls them for each block.

    Attributes:
        num_callers: See `PythonWorker`.
        initial: See `PythonWorker`.
        function: See `PythonWorker`.
        running: See `PythonWorker`.
        processes: The workers.
    """

    initial = None

    def __init__(
        self,
        stages: Sequence[ProcessStage],
        num_processes: int,
        is_batched: bool,
        holders: Sequence[WorkerHolder],
        num_callers: int | None = None,
        num_started: int | None = None,
    ) -> None:
        """Prepares the functions. Idle workers in the holders are used first.

        Args:
            stages: The stages.
            num_processes: The maximum number of processes to keep for the next iteration.
            is_batched: Whether a row is a batch.
            holders: The holders of the stages' idle workers.
            num_callers: The number of threads, if only one process is needed; None for as many as
                all processes need.
            num_started: The number of processes to start; None to start as many as needed.
        """
        self.num_callers = NUM_PLACES * num_processes if num_callers is None else num_callers
        self.running: dict[int, RunningCalls] = {}
        self.function: object = stages[-1].function
        if num_started is None:
            num_started = num_processes if num_callers is None else num_callers
        self.processes: Final = Processes(holders, num_started, num_processes)
        self._turns: Final = _Turns()
        self._stages: Final = tuple(stages)
        self._is_batched = is_batched
        functions = [stage.function for stage in stages]
        where = " and ".join(stage.where for stage in stages)
        packed, main = packed_functions(where, functions)
        steps = tuple(stage.step() for stage in stages)
        self._plan: Final = StagesMessage(
            next(_numbers), packed, steps, main, Surroundings.current()
        )

    @property
    def is_over(self) -> bool:
        """Returns whether the iteration is over. Calls not yet started are then dropped."""
        return self.processes.is_over

    @is_over.setter
    def is_over(self, is_over: bool) -> None:
        if is_over:
            self.processes.stop()
            self._turns.stop()

    def process(self, job: engine.Job) -> None:
        """Sends a block to this thread's worker, which calls the functions for each row."""
        calls = _Calls(job, self._stages)
        self.running[threading.get_ident()] = calls
        try:
            self._work(job, calls)
        finally:
            self._turns.end(job.number)
            del self.running[threading.get_ident()]

    def _work(self, job: engine.Job, calls: _Calls) -> None:
        failed: dict[int, engine.FailedRow] = {}
        limit, ended, num_restarts = job.num_rows, None, 0
        while not self.is_over:
            try:
                with self.processes.place(self._plan) as place:
                    message = self._asked(job, calls, place, frozenset(failed), limit)
                    self._take(job, message, place.output_arena, ended, failed)
                return
            except WorkerEnded as end:
                if self.is_over:
                    return
                if end.call is None:
                    # A call for a row of another block may have ended the worker.
                    num_restarts += not end.was_calling
                    if num_restarts <= _MOST_RESTARTS:
                        continue
                    job.keep([], self._ended(job, end))
                    return
                row, step = end.call
                error = self._ended(job, end)
                if job.skips_errors:
                    failed[row] = engine.FailedRow(row, error, self._stages[step].number)
                else:
                    # The results before this row are computed again, and returned before the error.
                    limit, ended = row, error
                if limit == 0:
                    job.keep([], ended)
                    return
                continue
            except BaseException as error:  # A worker cannot be started, or memory is exhausted.
                job.keep([], noted(error, calls.where))
                return

    def _take(
        self,
        job: engine.Job,
        message: ResultMessage,
        arena: Arena,
        ended: BaseException | None,
        failed: dict[int, engine.FailedRow],
    ) -> None:
        """Sets the result of a block that a worker sent back, unless the worker had to stop."""
        for failure in message.result.failed:
            raised = self._failed(job, failure)
            stage = self._stages[failure.step].number
            failed[failure.row] = engine.FailedRow(failure.row, raised, stage)
        if message.result.error is not None:
            ended = self._failed(job, message.result.error)
        if not message.result.is_stopped:
            job.has_taken(message.seconds)
            self._give(job, message, arena, ended, [failed[row] for row in sorted(failed)])

    def _asked(
        self,
        job: engine.Job,
        calls: _Calls,
        place: Place,
        left_out: frozenset[int],
        limit: int,
    ) -> ResultMessage:
        worker = place.worker
        try:
            if refusal := worker.begin(self._plan):
                raise refusal.unpacked()
            calls.has_started = True
            layout = Layout()
            columns = columns_of(layout, [job.column(n) for n in range(len(self._input_specs))])
            row_ids = row_ids_of(layout, job.row_ids())
            block = RowsMessage(columns, row_ids, left_out, limit, job.skips_errors)
            place.write(layout)
            with self._turns.of(job.number):
                calls.sent = worker, worker.send(place, block)
            message = worker.result(place)
        except WorkerEnded:
            self.processes.forget(worker)
            raise
        finally:
            calls.sent, calls.has_started = None, False
        self.processes.note_memory(worker)
        return message

    @property
    def _input_specs(self) -> Specs:
        return self._stages[0].input_specs

    def _ended(self, job: engine.Job, end: WorkerEnded) -> BaseException:
        """Returns the error for a worker that has ended."""
        row, step = end.call or (None, 0)
        stage = self._stages[step]
        origin = None if row is None else job.origin(row)
        at = "between two calls of the function" if row is None else f"at {origin or f'row {row}'}"
        error = RuntimeError(
            f"{stage.where}: worker process {end.worker} {end.how} {at}. {_remedy(end.code)}"
        )
        # The engine checks this attribute, because another attempt may succeed.
        vars(error)["has_lost_worker"] = True
        return noted(error, stage.where, origin)

    def _failed(self, job: engine.Job, failure: Failure) -> BaseException:
        stage = self._stages[failure.step]
        origin = job.origin(failure.row)
        return noted(failure.error.unpacked(), stage.where, origin, stage.input_specs)

    def _give(
        self,
        job: engine.Job,
        message: ResultMessage,
        arena: Arena,
        error: BaseException | None,
        failed: list[engine.FailedRow],
    ) -> None:
        """Sets the result of a block."""
        last = self._stages[-1]
        result = message.result
        for stage, (num_rows, seconds) in zip(self._stages[:-1], result.done, strict=False):
            job.count(stage.number, num_rows, 0, seconds)
        if message.columns is None or message.num_rows == 0:
            job.keep(result.kept if message.columns is None else [], error, None, failed)
            return
        counts = kept = None
        if last.kind == "flat_map":
            counts = result.counts + [0] * (job.num_rows - len(result.counts))
        elif last.kind == "filter":
            kept = result.kept
        specs = last.input_specs if last.output_specs is None else last.output_specs
        try:
            columns = [
                self._column(arena, location, name, spec)
                for (name, spec), location in zip(specs.items(), message.columns, strict=True)
            ]
        except BaseException as raised:
            job.keep([], noted(raised, last.where))
            return
        job.finish(columns, message.num_rows, counts, error, None, failed, kept)

    def _column(
        self, arena: Arena, location: tuple[Any, ...], name: str, spec: Spec
    ) -> engine.Column:
        """Returns a column with the values that a worker wrote into an arena."""
        kind = location[0]
        if kind == "strings" and len(location[1]) == 1 and not self._is_batched:
            return engine.Column.text(*strings_at(arena, location))
        column = Layout.read_from(arena, location)
        if spec.is_nested:
            return nested_column([nested_value(row, spec) for row in column], spec)
        if spec.is_listed:
            return lists_of(column, spec)
        if kind == "array" and not self._is_batched:
            return engine.Column.dense(carried(column), engine_code(column.dtype))
        values = list(column)
        return batches_of(values) if self._is_batched else column_of(name, values)


class LearnInProcess(ProcessFunctions):
    """`map` or `flat_map` while a function's components are learned; see `LearnFunction`."""

    def __init__(
        self,
        stages: Sequence[ProcessStage],
        num_processes: int,
        num_started: int,
        holders: Sequence[WorkerHolder],
        results: "deque[Mapping[str, Any]]",
        first: CachedProbeResults,
    ) -> None:
        """Adds the function's results to `results`, and the first example's results to `first`."""
        super().__init__(stages, num_processes, False, holders, 1, num_started)
        self._learned = results
        self._first: CachedProbeResults | None = first

    def _give(
        self,
        job: engine.Job,
        message: ResultMessage,
        arena: Arena,
        error: BaseException | None,
        failed: list[engine.FailedRow],
    ) -> None:
        stage = self._stages[-1]
        kept = []
        row = 0
        try:
            for row, result in zip(message.result.kept, message.result.rows, strict=True):
                items = [result] if stage.kind == "map" else result
                for item in items:
                    for name, value in check_components(stage.where, item).items():
                        spec_of(stage.where, name, value)
                self._note_first(job, row, result, message.result.digest)
                self._learned.extend(items)
                if items:
                    kept.append(row)
        except BaseException as raised:
            error = noted(raised, stage.where, job.origin(row))
        job.keep(kept, error, None, failed)

    def _note_first(self, job: engine.Job, row: int, result: Any, digest: bytes | None) -> None:
        results, self._first = self._first, None
        if results is not None and row == 0:
            key = key_of(job.row_ids()[0].tolist(), self._stages[-1].seed is not None)
            results.add(key, digest, result)


def _remedy(code: int | None) -> str:
    if code is not None and code >= 0:
        return "The function, or a library it uses, called os._exit. Raise an exception instead."
    if code == -signal.SIGKILL:
        return (
            "The system kills processes when it runs out of memory. Look for 'Out of memory' in "
            "the system log, and use fewer num_processes or smaller blocks (memory_bytes)."
        )
    return (
        "A native library crashed in the function. Look for the place in the standard error, or "
        "call the function with only this example. skip_errors can skip the example."
    )
