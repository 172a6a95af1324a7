"""Python functions in pipelines.

Each function has its own thread, and the thread processes one block after the other. The engine
calls Python once per block, and the function sees the examples in order. With `num_threads`,
several threads process different blocks, and their results are put in order.
"""

import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from headrace.core import engine
from headrace.core.errors import add_note
from headrace.pipeline.functions.cached_probe_results import copied
from headrace.pipeline.functions.function_state import (
    initial,
    kept,
    restore,
    using,
)
from headrace.pipeline.functions.global_generators import GlobalDraws
from headrace.pipeline.functions.indexed_rows import IndexedRows
from headrace.pipeline.functions.iterators import name_of
from headrace.pipeline.functions.results import Results
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.values.column_conversion import check_components, column_of, values_of
from headrace.pipeline.values.python_values import spec_of
from headrace.pipeline.values.types import Specs
from headrace.pipeline.values.unchanged import with_unchanged

if TYPE_CHECKING:
    from headrace.pipeline.functions.random_generators import Draws

__all__ = [
    "FilterFunction",
    "FlatMapFunction",
    "LearnFunction",
    "MapFunction",
    "ProbeCalls",
    "PythonWorker",
    "Result",
    "RunningCalls",
    "finish",
    "has_gil",
    "name_of",
    "noted",
]

_T = TypeVar("_T")


class RunningCalls(Protocol):
    """A sequence of calls to a function.

    Attributes:
        number: The number of the current call within its block.
        where: The stage and its function, for messages.
        since: When the block was started, by `time.monotonic`.
    """

    since: float

    @property
    def number(self) -> int:
        """See the class."""

    @property
    def where(self) -> str:
        """See the class."""

    @property
    def doing(self) -> str | None:
        """Describes the running call for an example, or the start of a worker.

        None while the block waits for its turn.
        """


class PythonWorker(Protocol):
    """A worker that calls a function for each of its blocks.

    Attributes:
        num_callers: The number of threads that process the blocks. Each thread processes one block
            at a time.
        running: The activity of each thread, by thread ID.
        is_over: Set at the end of the iteration, to drop blocks that have not been started.
    """

    num_callers: int
    running: "dict[int, RunningCalls]"
    is_over: bool

    @property
    def initial(self) -> str | None:
        """The function's state at the start of an iteration, or None if it has no state."""

    @property
    def function(self) -> object:
        """The user's function, if there is one."""

    def process(self, job: engine.Job) -> None:
        """Processes one block and sets its result, including errors that the function raised."""


def has_gil() -> bool:
    """Returns whether Python has a GIL, which lets only one thread run at a time."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


class _Calls:
    """Calls a function for the examples of a block one by one, until the first error.

    Attributes:
        number: The number of the current call.
        where: The stage and its function, for messages.
        since: When the block was started, by `time.monotonic`.
        error: The error that the function raised, or an error about its result; None if there is
            none.
        state: The function's state before the first call, as text; None if it has no state.
        failed: The skipped examples.
    """

    def __init__(self, job: engine.Job, specs: Specs, python_worker: "_Function") -> None:
        self._job = job
        self._specs = specs
        self._python_worker = python_worker
        self.where = python_worker.where
        self.since = time.monotonic()
        self.number = 0
        self.error: BaseException | None = None
        self.state: str | None = None
        self.failed: list[engine.FailedRow] = []

    @property
    def doing(self) -> str:
        """See `RunningCalls`."""
        number = self.number
        return f"the call for {self._job.origin(number) or f'example {number} of a block'}"

    def of(self, call: Callable[[dict[str, Any]], _T]) -> Iterator[tuple[int, _T]]:
        """Yields the number of each example, and the result of calling `call` with it."""
        columns = [
            values_of(self._job.column(index), spec)
            for index, spec in enumerate(self._specs.values())
        ]
        number = -1
        try:
            restore(self._python_worker.function, self._job.state)
            self.state = kept(self._python_worker.function)
            call = self._python_worker.global_draws.watching(call)
            if isinstance(self._python_worker.function, IndexedRows):
                self._python_worker.function.expect(
                    np.asarray(self._job.column(0).to_python()).tolist()
                )
            for number, values in enumerate(zip(*columns, strict=True)):
                if self._python_worker.is_over:
                    return
                self.number = number
                try:
                    result = call(dict(zip(self._specs, values, strict=True)))
                except Exception as error:
                    if not self._job.skips_errors:
                        raise
                    with_note = noted(error, self.where, self._job.origin(number), self._specs)
                    self.failed.append(engine.FailedRow(number, with_note, None))
                    continue
                yield number, result
            if (left := kept(self._python_worker.function)) is not None:
                self._job.leave(left)
        except BaseException as error:
            origin = self._job.origin(number) if number >= 0 else None
            self.error = noted(error, self.where, origin, self._specs)


def noted(
    error: BaseException, where: str, origin: str | None = None, components: Iterable[str] = ()
) -> BaseException:
    """Adds a note to an error that names the stage and the record.

    The message of a KeyError contains only the key, so a second note lists the components.
    """
    # Unlike isinstance, this reads no attributes of the exception. Reading them could raise a
    # second exception.
    if issubclass(type(error), StopIteration):
        # A StopIteration would silently end the program's loop.
        stopped = RuntimeError("a Python function of a pipeline raised StopIteration")
        stopped.__cause__ = error
        error = stopped
    add_note(error, f"in {where}" + ("" if origin is None else f", at {origin}"))
    if issubclass(type(error), KeyError) and components:
        add_note(error, f"the example has the components {', '.join(map(repr, components))}")
    return error


def _draws_of(seed: int | None) -> "Draws | None":
    if seed is None:
        return None
    # NumPy's generators are loaded only if a function draws random numbers.
    from headrace.pipeline.functions.random_generators import Draws  # noqa: PLC0415

    return Draws(seed)


class _Function(ABC):
    """A function that is called for each example of a block.

    Attributes:
        num_callers: See `PythonWorker`.
        running: See `PythonWorker`.
        is_over: See `PythonWorker`.
        initial: See `PythonWorker`.
        function: The user's function.
        where: The stage and the function, for messages.
    """

    # Whether the function returns an iterable of examples.
    gives_many = False

    def __init__(
        self,
        function: Callable[..., Any],
        first: ProbeCalls,
        input_specs: Specs,
        stage: str,
        num_callers: int = 1,
    ) -> None:
        self.num_callers = num_callers
        self.initial = initial(function)
        self.running: dict[int, RunningCalls] = {}
        self.is_over = False
        self.function = function
        self.where = f"{stage}({name_of(function)})"
        self.global_draws = GlobalDraws(self.where)
        self._input_specs = input_specs
        self._first = first

    def cached(self, job: engine.Job, calls: _Calls) -> Callable[..., Any]:
        """Returns the function with cached results; see `ProbeCalls.cached`."""
        return self._first.cached(self.function, job, calls, self.gives_many)

    def process(self, job: engine.Job) -> None:
        """Calls the function for each row."""
        calls = _Calls(job, self._input_specs, self)
        self.running[get_ident()] = calls
        try:
            with using(self.function):
                self._call_all(job, calls)
        finally:
            del self.running[get_ident()]

    @abstractmethod
    def _call_all(self, job: engine.Job, calls: _Calls) -> None:
        """Calls the function for each row, and sets the result."""


class MapFunction(_Function):
    """`map` over examples, or over batches."""

    def __init__(
        self,
        function: Callable[..., Mapping[str, Any]],
        first: ProbeCalls,
        seed: int | None,
        input_specs: Specs,
        output_specs: Specs,
        is_batched: bool,
        num_callers: int = 1,
        stage: str = "map",
    ) -> None:
        super().__init__(function, first, input_specs, stage, num_callers)
        self._draws = _draws_of(seed)
        self._output_specs = output_specs
        self._is_batched = is_batched

    def _call_all(self, job: engine.Job, calls: _Calls) -> None:
        function = self.cached(job, calls)
        results = Results(self.where, self._output_specs, job.num_rows, self._is_batched)

        def call(example: dict[str, Any], *draws: "np.random.Generator") -> None:
            results.add(function(example, *draws))

        for _ in calls.of(_drawing(call, self._draws, job)):
            pass
        _give(job, self.where, results, None, calls)


def _drawing(
    call: Callable[..., _T], draws: "Draws | None", job: engine.Job
) -> Callable[[dict[str, Any]], _T]:
    """Returns a call that passes each example's generator, if the function has a seed."""
    if draws is None:
        return call
    generators = draws.of(job.row_ids())
    return lambda example: call(example, next(generators))


class FilterFunction(_Function):
    """`filter` over examples, or over batches."""

    def __init__(
        self,
        function: Callable[[dict[str, Any]], object],
        first: ProbeCalls,
        input_specs: Specs,
        num_callers: int = 1,
    ) -> None:
        super().__init__(function, first, input_specs, "filter", num_callers)

    def _call_all(self, job: engine.Job, calls: _Calls) -> None:
        function = self.cached(job, calls)
        kept = [number for number, is_kept in calls.of(lambda row: bool(function(row))) if is_kept]
        job.keep(kept, calls.error, calls.state, calls.failed)


class FlatMapFunction(_Function):
    """`flat_map` over examples."""

    gives_many = True

    def __init__(
        self,
        function: Callable[..., Iterable[Mapping[str, Any]]],
        first: ProbeCalls,
        seed: int | None,
        input_specs: Specs,
        output_specs: Specs,
        num_callers: int = 1,
        stage: str = "flat_map",
    ) -> None:
        super().__init__(function, first, input_specs, stage, num_callers)
        self._draws = _draws_of(seed)
        self._output_specs = output_specs

    def _call_all(self, job: engine.Job, calls: _Calls) -> None:
        function = self.cached(job, calls)

        results = Results(self.where, self._output_specs, job.num_rows)

        def call(example: dict[str, Any], *draws: "np.random.Generator") -> int:
            before = len(results)
            try:
                for row in function(example, *draws):
                    results.add(row)
            except BaseException:
                results.keep(before)
                raise
            return len(results) - before

        rows = dict(calls.of(_drawing(call, self._draws, job)))
        counts = [rows.get(number, 0) for number in range(job.num_rows)]
        _give(job, self.where, results, counts, calls)


class LearnFunction(_Function):
    """`map` or `flat_map` while a function's components are learned. Examples stay unchanged.

    Examples for which the function returns nothing are dropped.
    """

    def __init__(
        self,
        stage: str,
        function: Callable[..., Any],
        first: ProbeCalls,
        seed: int | None,
        input_specs: Specs,
        results: "deque[Mapping[str, Any]]",
    ) -> None:
        """Appends the function's results to `results`."""
        super().__init__(function, first, input_specs, stage)
        self.gives_many = stage == "flat_map"
        self._draws = _draws_of(seed)
        self._output_specs = results

    def _call_all(self, job: engine.Job, calls: _Calls) -> None:
        function = self.cached(job, calls)

        def call(example: dict[str, Any], *draws: "np.random.Generator") -> bool:
            before = dict(example)
            result = function(example, *draws)
            rows = result if self.gives_many else [result]
            return self._learn(
                [copied(with_unchanged(row, before, self._input_specs)) for row in rows]
            )

        drawing = _drawing(call, self._draws, job)
        kept = [number for number, is_kept in calls.of(drawing) if is_kept]
        job.keep(kept, calls.error, calls.state, calls.failed)

    def _learn(self, results: Sequence[Any]) -> bool:
        for row in results:
            for name, value in check_components(self.where, row).items():
                spec_of(self.where, name, value)
        self._output_specs.extend(results)
        return bool(results)


@dataclass(eq=False)
class Result:
    """The result for a block of an iterator's examples; see `_Calls` and `RunningCalls`."""

    where: str
    since: float = field(default_factory=time.monotonic)
    number: int = 0
    error: BaseException | None = None
    state: str | None = None
    failed: tuple[engine.FailedRow, ...] = ()
    doing: str = "the call for its next example"


def _give(
    job: engine.Job,
    where: str,
    results: Results,
    counts: Sequence[int] | None,
    calls: _Calls,
) -> None:
    """Sets the results of calls; `counts` has the number of output rows for each input row."""
    num_rows = len(results)
    if num_rows == 0:
        job.keep([], calls.error, calls.state, calls.failed)
        return
    try:
        columns = results.columns()
    except BaseException as raised:
        job.keep([], noted(raised, where))
        return
    job.finish(columns, num_rows, counts, calls.error, calls.state, calls.failed)


def finish(
    job: engine.Job,
    where: str,
    specs: Specs,
    rows: Sequence[list[Any]],
    result: Result,
) -> None:
    """Sets rows of values as a source's result."""
    if not rows:
        job.keep([], result.error, result.state, result.failed)
        return
    try:
        values = zip(*rows, strict=True)
        columns = [column_of(name, column) for name, column in zip(specs, values, strict=True)]
    except BaseException as raised:
        job.keep([], noted(raised, where))
        return
    job.finish(columns, len(rows), None, result.error, result.state, result.failed)
