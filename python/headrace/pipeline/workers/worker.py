"""A worker process: gets blocks of rows, calls the functions of its stages, sends the results.

It ends when the program or the fork server does, even during a call of a function.
"""

import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import sys
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
    """A message with the stages that a worker runs from now on.

    Attributes:
        number: The number of the plan.
        functions: The functions of the stages.
        steps: The stages.
        main: The program's main module, if functions are defined in it.
        surroundings: The directory and the environment of the program.
    """

    number: int
    functions: PackedFunctions
    steps: tuple[Step, ...]
    main: MainModule | None
    surroundings: Surroundings


@dataclass(frozen=True)
class RowsMessage:
    """A message with rows for a worker, which are in the arena of its input.

    Attributes:
        size: The number of used bytes of the arena.
        columns: The places of the components in the arena.
        row_ids: The place of the row ids in the arena.
        left_out: The numbers of the rows to skip.
        limit: The number of rows to work on.
        skips_errors: Whether rows at which a function fails are skipped.
        is_renewed: Whether the message brings a new arena, which replaces the one before.
    """

    size: int
    columns: tuple[Any, ...]
    row_ids: tuple[Any, ...]
    left_out: frozenset[int]
    limit: int
    skips_errors: bool
    is_renewed: bool


@dataclass(frozen=True)
class ResultMessage:
    """A message with the results of a worker, which are in the arena of its output.

    Attributes:
        result: The results of the calls; their rows are in the arena, or unchanged.
        columns: The places of the components in the arena; None if the rows are unchanged.
        num_rows: The number of rows.
        size: The number of used bytes of the arena.
        keeps_arrays: Whether a function has kept references to arrays of its input.
    """

    result: Result
    columns: tuple[Any, ...] | None
    num_rows: int
    size: int
    keeps_arrays: bool


class FunctionsMessage(Protocol):
    """A message that brings functions.

    Attributes:
        functions: The functions.
        main: The program's main module, if they are defined in it.
        surroundings: The directory and the environment of the program.
    """

    @property
    def functions(self) -> PackedFunctions:
        """See above."""

    @property
    def main(self) -> MainModule | None:
        """See above."""

    @property
    def surroundings(self) -> Surroundings:
        """See above."""


class IteratorServer(Protocol):
    """The part of a worker that answers messages about an iterator."""

    def answered(self, message: Any, descriptors: Sequence[int]) -> object:
        """Does what a message asks for, and returns the answer."""


class IteratorMessage(Protocol):
    """The first message about an iterator. Its module is loaded only where it is needed."""

    def serve(
        self,
        call_status: SharedCallStatus,
        output_arena: Arena,
        load: Callable[[FunctionsMessage], tuple[Any, ...]],
    ) -> IteratorServer:
        """Returns the part of the worker that answers messages about iterators."""


def run_worker(descriptors: Sequence[int], server: int) -> None:
    """Works until the other end of the connection is closed.

    Args:
        descriptors: The descriptors of the connection, the call status, and the arenas for rows and
            for results.
        server: The number of the process that has started this one.
    """
    _end_with(server)
    connection, call_status, input_arena, output_arena = descriptors
    channel = Channel(socket.socket(fileno=connection))
    with contextlib.closing(channel):
        _serve(channel, call_status, input_arena, output_arena)


def _serve(channel: Channel, call_status: int, input_arena: int, output_arena: int) -> None:
    with contextlib.suppress(Exception):  # Standard error may be missing.
        faulthandler.enable()
    if (random := sys.modules.get("numpy.random")) is not None:
        # Otherwise all workers, which are forks of one process, would draw the same numbers.
        random.seed()
    worker = _Worker(SharedCallStatus(call_status), Arena(input_arena), Arena(output_arena))
    with contextlib.closing(channel), contextlib.suppress(EOFError, ConnectionError):
        while True:
            message, renewed = channel.receive()
            channel.send(worker.answered(message, renewed))


class _Worker:
    def __init__(
        self, call_status: SharedCallStatus, input_arena: Arena, output_arena: Arena
    ) -> None:
        self._call_status = call_status
        self._input_arena = input_arena
        self._output_arena = output_arena
        # The plan's components whose rows had different shapes.
        self._uneven: set[str] = set()
        self._functions: dict[bytes, tuple[Any, ...]] = {}
        self._plan: tuple[StagesMessage, Steps] | None = None
        self._iterator: IteratorServer | None = None

    def answered(self, message: object, renewed: Sequence[int]) -> object:
        """Does what a message asks for, and returns the answer."""
        try:
            if isinstance(message, StagesMessage):
                functions = message.functions.received(renewed)
                return self._begin(replace(message, functions=functions))
            if isinstance(message, RowsMessage):
                if message.is_renewed:
                    self._input_arena.close()
                    self._input_arena = Arena(renewed[0])
                return self._work(message)
            if self._iterator is None:
                # The first message is an `OpenRequest`, whose module is loaded with it.
                serve = cast("IteratorMessage", message).serve
                self._iterator = serve(self._call_status, self._output_arena, self._loaded)
            return self._iterator.answered(message, renewed)
        finally:
            for stream in (sys.stdout, sys.stderr):
                # The process may be killed at any time, and buffered output would be lost.
                with contextlib.suppress(Exception):
                    stream.flush()

    def _begin(self, plan: StagesMessage) -> PackedError | None:
        """Loads functions, and reuses them for plans with the same bytes."""
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
            # The functions before are dropped first, for both may be large.
            self._functions = {}
            if sent.main is not None:
                import_main(sent.main)
            self._functions = {digest: sent.functions.unpacked()}
        return self._functions[digest]

    def _work(self, block: RowsMessage) -> ResultMessage:
        assert self._plan is not None
        plan, steps = self._plan
        first, last = plan.steps[0], plan.steps[-1]
        self._input_arena.map(block.size)
        rows = None
        if (specs := last.input_specs if last.stage == "filter" else last.output_specs) is not None:
            rows = SharedRows(self._output_arena, specs, block.limit, self._uneven)
        result = self._run(block, first.input_specs, steps, rows)
        keeps_arrays = self._input_arena.is_kept()
        if last.stage == "filter" and len(plan.steps) == 1:
            return ResultMessage(result, None, len(result.kept), 0, keeps_arrays)
        if rows is None:
            try:
                result.rows = [_picklable(last, row) for row in result.rows]
            except Exception as error:
                failure = _failure(result, plan, error)
                return ResultMessage(Result(error=failure), None, 0, 0, keeps_arrays)
            return ResultMessage(result, None, len(result.rows), 0, keeps_arrays)
        if not len(rows):
            return ResultMessage(result, (), 0, 0, keeps_arrays)
        try:
            columns = rows.locations()
        except Exception as error:
            return ResultMessage(
                Result(error=_failure(result, plan, error)), (), 0, 0, keeps_arrays
            )
        return ResultMessage(result, columns, len(rows), self._output_arena.size, keeps_arrays)

    def _run(
        self, block: RowsMessage, input_specs: Specs, steps: Steps, rows: SharedRows | None
    ) -> Result:
        columns = [
            list(as_rows(Layout.read_from(self._input_arena, location), spec))[: block.limit]
            for location, spec in zip(block.columns, input_specs.values(), strict=True)
        ]
        row_ids = Layout.read_from(self._input_arena, block.row_ids)
        with calling_functions():
            result = steps.run(
                columns,
                row_ids,
                block.left_out,
                block.skips_errors,
                self._call_status.begin_call,
                rows,
            )
        # The last row is not the cause if the process ends from now on.
        self._call_status.forget_calls()
        return result


def _failure(result: Result, plan: StagesMessage, error: Exception) -> Failure:
    """Returns an error of the last function's result for the first row that has one."""
    first = result.kept[0] if result.kept else 0
    return Failure(first, len(plan.steps) - 1, PackedError.of(error))


def _picklable(step: Step, result: Any) -> Any:
    """Returns a function's result in a form that can be pickled: arrays and plain values."""
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
    """Asks the system to kill this process when the fork server has ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
