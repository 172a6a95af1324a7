"""A worker process: it calls functions for blocks of rows and sends the results.

It ends when the program or the fork server ends, even during a call of a function.
"""

import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast

import numpy as np

from headrace.core.function_threads import calling_functions
from headrace.pipeline.values.column_conversion import as_rows
from headrace.pipeline.values.python_values import as_value
from headrace.pipeline.values.types import Specs
from headrace.pipeline.workers.call_status import SharedCallStatus
from headrace.pipeline.workers.calls import Failure, Result, Step, Steps
from headrace.pipeline.workers.main_module import MainModule, Surroundings, import_main
from headrace.pipeline.workers.messages import Channel
from headrace.pipeline.workers.sending import PackedError, PackedFunctions
from headrace.pipeline.workers.shared_arrays import Arena, Layout
from headrace.pipeline.workers.shared_rows import SharedRows

__all__ = ["ResultMessage", "RowsMessage", "StagesMessage", "run_worker"]

_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True)
class StagesMessage:
    """The stages that a worker runs from now on.

    Attributes:
        number: The number of the plan.
        functions: The functions of the stages.
        steps: The stages.
        main: The program's main module, if functions are defined in it.
        surroundings: The program's directory and environment.
    """

    number: int
    functions: PackedFunctions
    steps: tuple[Step, ...]
    main: MainModule | None
    surroundings: Surroundings


@dataclass(frozen=True)
class RowsMessage:
    """Passes rows to a worker, in its input arena.

    Attributes:
        columns: The locations of the components in the arena.
        row_ids: The location of the row IDs in the arena.
        left_out: The numbers of the rows to skip.
        limit: The number of rows to process.
        skips_errors: Whether to skip rows that a function fails on.
        number: The number of the block, under which its calls are recorded.
        place: The number of the place whose arenas are used.
        size: The number of bytes used in the input arena.
        is_renewed: Whether the message brings a new arena to replace the previous one.
    """

    columns: tuple[Any, ...]
    row_ids: tuple[Any, ...]
    left_out: frozenset[int]
    limit: int
    skips_errors: bool
    number: int = 0
    place: int = 0
    size: int = 0
    is_renewed: bool = False


@dataclass(frozen=True)
class ResultMessage:
    """Returns a worker's results, in its output arena.

    Attributes:
        result: The results of the calls. The rows are stored in the arena, unless the function
            returned them unchanged.
        columns: The locations of the components in the arena, or None if the rows are unchanged.
        num_rows: The number of rows.
        size: The number of bytes used in the arena.
        keeps_arrays: Whether a function has kept references to arrays of its input.
        seconds: The time that the worker needed for the block.
    """

    result: Result
    columns: tuple[Any, ...] | None
    num_rows: int
    size: int
    keeps_arrays: bool = False
    seconds: float = 0.0


class FunctionsMessage(Protocol):
    """A message with functions.

    Attributes:
        functions: The functions.
        main: The program's main module, if functions are defined in it.
        surroundings: The program's directory and environment.
    """

    @property
    def functions(self) -> PackedFunctions:
        """See the class."""

    @property
    def main(self) -> MainModule | None:
        """See the class."""

    @property
    def surroundings(self) -> Surroundings:
        """See the class."""


class IteratorServer(Protocol):
    """The part of a worker that answers messages about an iterator."""

    def answered(self, message: Any, descriptors: Sequence[int]) -> object:
        """Handles a message, and returns the reply."""


class IteratorMessage(Protocol):
    """The first message about an iterator. Its module is imported only if it is needed."""

    def serve(
        self,
        call_status: SharedCallStatus,
        output_arena: Arena,
        load: Callable[[FunctionsMessage], tuple[Any, ...]],
    ) -> IteratorServer:
        """Returns the part of the worker that answers messages about iterators."""


def run_worker(descriptors: Sequence[int], server: int) -> None:
    """Runs a worker until the other end of the connection is closed.

    Args:
        descriptors: The descriptors of the connection, the call status, and the input and output
            arena of each place.
        server: The ID of the process that started this one.
    """
    _end_with(server)
    connection, call_status, *arenas = descriptors
    channel = Channel(socket.socket(fileno=connection))
    with contextlib.closing(channel):
        _serve(channel, call_status, arenas)


def _serve(channel: Channel, call_status: int, arenas: Sequence[int]) -> None:
    with contextlib.suppress(Exception):  # There may be no standard error.
        faulthandler.enable()
    if (random := sys.modules.get("numpy.random")) is not None:
        # Otherwise, all workers would draw the same numbers, because they are forks of one process.
        random.seed()
    worker = _Worker(SharedCallStatus(call_status), list(map(Arena, arenas)))
    with contextlib.closing(channel), contextlib.suppress(EOFError, ConnectionError):
        while True:
            message, renewed = channel.receive()
            channel.send(worker.answered(message, renewed))


class _Worker:
    def __init__(self, call_status: SharedCallStatus, arenas: Sequence[Arena]) -> None:
        self._call_status = call_status
        # Keyed by the number of the place.
        self._input_arenas, self._output_arenas = list(arenas[::2]), list(arenas[1::2])
        # The plan's components whose rows have had different shapes.
        self._uneven: set[str] = set()
        self._functions: dict[bytes, tuple[Any, ...]] = {}
        self._plan: tuple[StagesMessage, Steps] | None = None
        self._iterator: IteratorServer | None = None

    def answered(self, message: object, renewed: Sequence[int]) -> object:
        """Handles a message, and returns the reply."""
        try:
            if isinstance(message, StagesMessage):
                functions = message.functions.received(renewed)
                return self._begin(replace(message, functions=functions))
            if isinstance(message, RowsMessage):
                begin = time.perf_counter()
                if message.is_renewed:
                    self._input_arenas[message.place].close()
                    self._input_arenas[message.place] = Arena(renewed[0])
                result = self._work(message)
                keeps_arrays = self._input_arenas[message.place].is_kept()
                seconds = time.perf_counter() - begin
                return replace(result, keeps_arrays=keeps_arrays, seconds=seconds)
            if self._iterator is None:
                # The first message is an `OpenRequest`. Unpickling it imports its module.
                serve = cast("IteratorMessage", message).serve
                self._iterator = serve(self._call_status, self._output_arenas[0], self._loaded)
            return self._iterator.answered(message, renewed)
        finally:
            for stream in (sys.stdout, sys.stderr):
                # The process may be killed at any time, and buffered output would be lost.
                with contextlib.suppress(Exception):
                    stream.flush()

    def _begin(self, plan: StagesMessage) -> PackedError | None:
        """Loads functions. If a plan has the same bytes, its functions are reused."""
        self._plan = None
        try:
            steps = Steps(plan.steps, self._loaded(plan))
            # The bytes are no longer needed.
            plan = replace(plan, functions=PackedFunctions(plan.functions.digest, None))
            self._plan = plan, steps
            self._uneven = set()
        except BaseException as error:
            return PackedError.of(error)
        return None

    def _loaded(self, sent: FunctionsMessage) -> tuple[Any, ...]:
        sent.surroundings.enter()
        digest = sent.functions.digest
        if digest not in self._functions:
            # The previous functions are dropped first, because both may be large.
            self._functions = {}
            if sent.main is not None:
                import_main(sent.main)
            self._functions = {digest: sent.functions.unpacked()}
        return self._functions[digest]

    def _work(self, block: RowsMessage) -> ResultMessage:
        assert self._plan is not None
        plan, steps = self._plan
        first, last = plan.steps[0], plan.steps[-1]
        self._call_status.begin_block(block.number)
        arena = self._output_arenas[block.place]
        rows = None
        if (specs := last.input_specs if last.stage == "filter" else last.output_specs) is not None:
            rows = SharedRows(arena, specs, block.limit, self._uneven)
        result = self._run(block, first.input_specs, steps, rows)
        if last.stage == "filter" and len(plan.steps) == 1:
            return ResultMessage(result, None, len(result.kept), 0)
        if rows is None:
            try:
                result.rows = [_picklable(last, row) for row in result.rows]
            except Exception as error:
                return ResultMessage(Result(error=_failure(result, plan, error)), None, 0, 0)
            return ResultMessage(result, None, len(result.rows), 0)
        if not len(rows):
            return ResultMessage(result, (), 0, 0)
        try:
            columns = rows.locations()
        except Exception as error:
            return ResultMessage(Result(error=_failure(result, plan, error)), (), 0, 0)
        return ResultMessage(result, columns, len(rows), arena.size)

    def _run(
        self, block: RowsMessage, input_specs: Specs, steps: Steps, rows: SharedRows | None
    ) -> Result:
        arena = self._input_arenas[block.place]
        arena.map(block.size)
        columns = [
            list(as_rows(Layout.read_from(arena, location), spec))[: block.limit]
            for location, spec in zip(block.columns, input_specs.values(), strict=True)
        ]
        row_ids = Layout.read_from(arena, block.row_ids)
        with calling_functions():
            result = steps.run(
                columns,
                row_ids,
                block.left_out,
                block.skips_errors,
                self._call_status.begin_call,
                rows,
            )
        # If the process ends from now on, the last row is not the cause.
        self._call_status.forget_calls()
        return result


def _failure(result: Result, plan: StagesMessage, error: Exception) -> Failure:
    """Returns an error in the last function's result, for the first row with an output row."""
    first = result.kept[0] if result.kept else 0
    return Failure(first, len(plan.steps) - 1, PackedError.of(error))


def _picklable(step: Step, result: Any) -> Any:
    """Converts a function's result to picklable arrays and plain values."""
    if step.stage == "flat_map":
        return [_plain(step.where, item) for item in result]
    return _plain(step.where, result)


def _plain(where: str, result: Any) -> Any:
    if not isinstance(result, dict):
        return result
    plain = (str, bytes, bool, int, float, complex, np.ndarray, np.generic, dict)
    return {
        name: value if isinstance(value, (*plain, list, tuple)) else as_value(where, name, value)
        for name, value in result.items()
    }


def _end_with(server: int) -> None:
    """Makes the system kill this process when the fork server ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
