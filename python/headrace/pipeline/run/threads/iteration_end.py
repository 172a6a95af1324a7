"""Ends an iteration and its threads, worker processes and files."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from headrace.core import engine
from headrace.core.wait_registry import RegisteredWait
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.workers.python_iterables import Feed

__all__ = ["EndableWorkers", "IterationParts", "close", "close_or_interrupt"]

# How long the end of an iteration waits for a running Python function.
_PATIENCE_S = 0.15


class EndableWorkers(Protocol):
    """The worker processes of an iteration."""

    def stop(self) -> None:
        """Makes the processes stop after their current calls."""

    def end(self) -> None:
        """Ends the processes, or keeps them alive for the next iteration."""


class IterationParts(NamedTuple):
    """Everything that must end together with an iteration."""

    execution: engine.Execution
    name: str
    find_python_workers: Sequence[Callable[[], PythonWorker | None]]
    threads: list[threading.Thread]
    feeds: list[Feed]
    processes: list[EndableWorkers]
    is_over: threading.Event

    def python_workers(self) -> list[PythonWorker]:
        """Returns the Python workers that the iteration or a running call still references."""
        return [
            python_worker
            for find in self.find_python_workers
            if (python_worker := find()) is not None
        ]

    def call_of(self, thread: threading.Thread) -> tuple[object, int] | None:
        """Returns a thread's current call with its number, or None if it is not in a call."""
        running = [
            python_worker.running.get(thread.ident or 0) for python_worker in self.python_workers()
        ]
        calls_in_progress = [calls for calls in running if calls is not None]
        return (calls_in_progress[0], calls_in_progress[0].number) if calls_in_progress else None


def close_execution(execution: engine.Execution) -> None:
    """Ends the threads of an execution and waits for them."""
    execution.close()


def close_or_interrupt(execution: engine.Execution) -> None:
    """Like `close_execution`, but Ctrl-C ends the wait."""
    execution.close_or_interrupt()


def close(
    ending: IterationParts,
    process: int,
    end: Callable[[engine.Execution], None] = close_execution,
) -> None:
    """Ends an iteration. Does nothing in a process that was forked from the iteration's own."""
    if process != os.getpid():
        return
    ending.is_over.set()
    for python_worker in ending.python_workers():
        python_worker.is_over = True
    for feed in ending.feeds:
        feed.stop()
    for processes in ending.processes:
        processes.stop()
    calls = [ending.call_of(thread) for thread in ending.threads]
    try:
        end(ending.execution)
        with RegisteredWait(lambda: f"the threads of pipeline '{ending.name}' to end"):
            _join(ending, calls)
    finally:
        for processes in ending.processes:
            processes.end()
    if ending.processes:
        # Threads that were waiting for a process end when it does.
        _join(ending, calls)


def _join(ending: IterationParts, calls: Sequence[tuple[object, int] | None]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    for thread, call in zip(ending.threads, calls, strict=True):
        # A function that ends its own iteration cannot wait for itself.
        if thread is threading.current_thread() or thread.ident is None:
            continue
        thread.join(max(0.0, deadline - time.monotonic()))
        # Don't wait for a call that does not return either. Its thread ends when it returns.
        while thread.is_alive() and (call is None or ending.call_of(thread) != call):
            thread.join(_PATIENCE_S)
