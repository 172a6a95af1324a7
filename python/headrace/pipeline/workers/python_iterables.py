"""Reads blocks of examples from users' iterators.

One thread calls the iterator, and another one passes on the examples. Therefore, a slow iterator
does not hold back examples that it has already yielded.
"""

import threading
from collections.abc import Callable
from itertools import islice
from threading import get_ident
from typing import Any, Final

from headrace.core import engine
from headrace.pipeline.functions.iterators import Examples, Factory, Values, name_of
from headrace.pipeline.functions.python_functions import Result, RunningCalls, finish, noted
from headrace.pipeline.values.column_conversion import as_values
from headrace.pipeline.values.types import Specs
from headrace.pipeline.workers.iterator_pool import IteratorPool

__all__ = ["Feed", "IterableFunction", "SpecProbe", "serve_feed"]

# The maximum number of examples in a block.
_BLOCK_ROWS: Final = 128
# How long a block waits for more examples once it has one.
_PATIENCE_S: Final = 0.002
_END: Final = object()

# An example, with the iterator's state before it.
_Row = tuple[list[Any], str | None]


class Feed:
    """A buffer of examples between the thread that calls an iterator and the consumer.

    Both threads read and write it. The thread that ends the iteration stops it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows: list[_Row] = []
        self._num_bytes = 0
        self._job: engine.Job | None = None
        # The number of the pass that the examples belong to.
        self._pass: int | None = None
        self._is_ended = False
        self._error: BaseException | None = None
        self.is_over = False

    def stop(self) -> None:
        """Makes both threads stop."""
        with self._changed:
            self.is_over = True
            self._job = None
            self._changed.notify_all()

    def take(self, job: engine.Job) -> tuple[list[_Row], BaseException | None]:
        """Waits for examples or the end, and returns the examples and the iterator's error."""
        with self._changed:
            if self._pass != job.pass_number:
                self._rows, self._num_bytes, self._error = [], 0, None
            self._job, self._pass = job, job.pass_number
            # The iterator may have failed while no examples were requested.
            self._is_ended = self._error is not None
            self._changed.notify_all()
            self._changed.wait_for(lambda: bool(self._rows) or self._has_ended())
            self._changed.wait_for(
                lambda: self._is_full(job) or self._has_ended(), timeout=_PATIENCE_S
            )
            self._job = None
            rows, self._rows, self._num_bytes = self._rows, [], 0
            error = None if self.is_over else self._error
            self._error = None
            return rows, error

    def wait(self) -> engine.Job | None:
        """Waits until examples are requested, and returns the task, or None after `stop`."""
        with self._changed:
            self._changed.wait_for(lambda: self._wants_more() or self.is_over)
            return None if self.is_over else self._job

    def put(self, number: int, values: list[Any], state: str | None) -> bool:
        """Adds an example of a pass, and returns whether more are needed."""
        with self._changed:
            if number != self._pass:
                return False
            self._rows.append((values, state))
            self._num_bytes += sum(map(_num_bytes, values))
            if len(self._rows) == 1 or not self._wants_more():
                self._changed.notify_all()
            return self._wants_more()

    def end(self, number: int, error: BaseException | None = None) -> None:
        """Ends a pass whose iterator has ended, or has failed with `error`."""
        with self._changed:
            if number != self._pass:
                return
            self._is_ended = True
            self._error = self._error or error
            self._changed.notify_all()

    def _has_ended(self) -> bool:
        return self._is_ended or self.is_over

    def _wants_more(self) -> bool:
        job = self._job
        return job is not None and not self._has_ended() and not self._is_full(job)

    def _is_full(self, job: engine.Job) -> bool:
        return len(self._rows) >= _BLOCK_ROWS or self._num_bytes >= job.target_bytes


class IterableFunction:
    """Examples from a user's iterator. Each pass uses a new iterator.

    Attributes:
        processes: Stops the processes that iterate, or None if there are none.
    """

    num_callers = 1
    initial = None

    def __init__(self, factory: Factory, openings: IteratorPool, output_specs: Specs) -> None:
        self.running: dict[int, RunningCalls] = {}
        self.is_over = False
        self.function = factory
        self.feed: Final = Feed()
        self.processes: Final = openings.processes(is_looking=False)
        self._openings = openings
        self._output_specs = output_specs
        self._pass: tuple[int, Examples] | None = None
        self._where = f"iterable({name_of(factory)})"

    def process(self, job: engine.Job) -> None:
        """Passes the next examples to the engine, or none at the end."""
        result = Result(self._where)
        rows, result.error = self.feed.take(job)
        if rows:
            result.state = rows[0][1]
        finish(job, self._where, self._output_specs, [values for values, _ in rows], result)

    def ask(self, job: engine.Job) -> None:
        """Calls the iterator for as many examples as the task needs."""
        result = Result(self._where)
        self.running[get_ident()] = result
        words = None
        number = job.pass_number
        try:
            if self.processes is not None:
                result.doing = "starting its worker processes"
            examples = self._examples(job)
            result.doing = Result.doing
            examples.expect(self._output_specs, job.target_bytes)
            while True:
                state, words = examples.state(), examples.words()
                example = next(examples, _END)
                if example is _END:
                    return self.feed.end(number)
                result.number += 1
                if not isinstance(example, Values):
                    example = as_values(self._where, example, self._output_specs)
                if not self.feed.put(number, example, state):
                    return None
        except BaseException as error:
            return self.feed.end(number, noted(error, self._where, words))
        finally:
            del self.running[get_ident()]

    def _examples(self, job: engine.Job) -> Examples:
        if self._pass is None or self._pass[0] != job.pass_number:
            if self.processes is not None:
                self._pass = None
                self.processes.release()
            examples = self._openings.take(self.function, self.processes)
            self._pass = (job.pass_number, examples)
            examples.go_on(job.state, job.first_row)
        return self._pass[1]


class SpecProbe:
    """Reads an iterator's examples one at a time to infer its components."""

    num_callers = 1
    initial = None

    def __init__(self, factory: Factory, openings: IteratorPool, output_specs: Specs) -> None:
        self.running: dict[int, RunningCalls] = {}
        self.is_over = False
        self.function = factory
        self.processes: Final = openings.processes(is_looking=True)
        self._openings = openings
        self._output_specs = output_specs
        self._passes: dict[int, Any] = {}
        # The number of iterators that yielded no examples.
        self._num_empty = 0
        self._where = f"iterable({name_of(factory)})"

    def process(self, job: engine.Job) -> None:
        """Passes the next example to the engine, or none at the end."""
        result = Result(self._where)
        self.running[get_ident()] = result
        rows = []
        try:
            if job.pass_number not in self._passes:
                # A cache has kept the examples before this one.
                looked_at = self._openings.look(self.function, self.processes, self._num_empty)
                examples = islice(looked_at, job.first_row, None)
                self._passes = {job.pass_number: examples}
            if (example := next(self._passes[job.pass_number], _END)) is not _END:
                rows.append(as_values(self._where, example, self._output_specs))
            elif job.first_row == 0:
                self._num_empty += 1
        except BaseException as error:
            result.error = noted(error, self._where)
        finally:
            del self.running[get_ident()]
        finish(job, self._where, self._output_specs, rows, result)


def serve_feed(feed: Feed, find_python_worker: Callable[[], IterableFunction | None]) -> None:
    """Calls an iterator whenever examples are requested, until the iteration ends."""
    while (job := feed.wait()) is not None:
        python_worker = find_python_worker()
        if python_worker is None:
            return
        python_worker.ask(job)
        # Holds no reference to the examples while it waits.
        del python_worker, job


def _num_bytes(value: Any) -> int:
    """Returns the size of a result of `as_value` in bytes."""
    if isinstance(value, bytes):
        return len(value)
    strings = sum(map(len, value.ravel())) if value.dtype == object else 0
    return int(value.nbytes) + strings
