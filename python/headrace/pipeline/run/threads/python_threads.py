"""An iteration's Python threads: they run and watch functions and iterators."""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import engine
from headrace.core.function_threads import calling_functions
from headrace.pipeline.functions.python_functions import PythonWorker, has_gil
from headrace.pipeline.run.threads.gil_share import GilShares, look_at_gil
from headrace.pipeline.run.threads.iteration_end import EndableWorkers, IterationParts
from headrace.pipeline.run.threads.watchdog import watch
from headrace.pipeline.workers.python_iterables import Feed, IterableFunction, serve_feed

__all__ = ["Threads", "callers_of"]


def callers_of(python_workers: Sequence[PythonWorker]) -> list[int]:
    """Returns the number of the Python worker for each thread that calls Python functions."""
    return [
        number
        for number, python_worker in enumerate(python_workers)
        for _ in range(python_worker.num_callers)
    ]


class Threads:
    """The threads of an iteration. They hold no reference to a Python worker while they wait.

    Attributes:
        callers: The threads that call users' functions and iterators.
        gil_watch: The thread that samples the GIL, or None. It is started later than the others.
    """

    def __init__(
        self,
        execution: engine.Execution,
        python_workers: Sequence[PythonWorker],
        names: Sequence[str],
        gil_shares: GilShares,
        options: Mapping[str, Any],
        is_learning: bool,
    ) -> None:
        """Creates the threads, without starting them.

        Args:
            execution: The execution of the pipeline.
            python_workers: Its Python workers.
            names: The names of the measured stages.
            gil_shares: Receives the samples of the GIL.
            options: The pipeline's options.
            is_learning: Whether to compute only requested examples.
        """
        self._execution = execution
        self._find_python_workers = list(map(weakref.ref, python_workers))
        self._is_over = threading.Event()
        self._feeds: list[Feed] = []
        self.callers = [
            _thread(
                "function", number, _serve, execution, number, self._find_python_workers[number]
            )
            for number in callers_of(python_workers)
        ]
        for number, python_worker in enumerate(python_workers):
            if isinstance(python_worker, IterableFunction):
                self._feeds.append(python_worker.feed)
                served = (python_worker.feed, self._find_python_workers[number])
                self.callers.append(_thread("iterable", number, serve_feed, *served))
        self._all = list(self.callers)
        if seconds := options.get("warn_after_s"):
            watched = (execution, self._find_python_workers, names, seconds, self._is_over)
            self._all.append(_thread("watch", None, watch, *watched))
        self.gil_watch: threading.Thread | None = None
        # Functions in other processes do not hold the GIL of this process.
        runs_here = any(
            python_worker.num_callers and getattr(python_worker, "processes", None) is None
            for python_worker in python_workers
        )
        if runs_here and has_gil() and not is_learning:
            looked_at = (execution, self._find_python_workers, gil_shares)
            self.gil_watch = _thread("gil", None, look_at_gil, *looked_at)

    def start(self) -> None:
        """Starts the threads, except for `gil_watch`."""
        for thread in self._all:
            thread.start()

    def ending(self, name: str, processes: list[EndableWorkers]) -> IterationParts:
        """Returns the parts that end together.

        Args:
            name: The pipeline's name, for messages.
            processes: The worker processes.
        """
        threads = self._all if self.gil_watch is None else [*self._all, self.gil_watch]
        find_python_workers, feeds = self._find_python_workers, self._feeds
        return IterationParts(
            self._execution, name, find_python_workers, threads, feeds, processes, self._is_over
        )


def _thread(
    kind: str, number: int | None, target: Callable[..., None], *args: object
) -> threading.Thread:
    name = f"headrace-{kind}" if number is None else f"headrace-{kind}-{number}"
    return threading.Thread(target=target, args=args, name=name, daemon=True)


def _serve(
    execution: engine.Execution, number: int, find_python_worker: Callable[[], PythonWorker | None]
) -> None:
    with calling_functions():
        while (job := execution.take(number)) is not None:
            python_worker = find_python_worker()
            if python_worker is None:
                return
            try:
                python_worker.process(job)
            except BaseException as error:  # The iteration must not wait for a thread that is gone.
                job.keep([], error)
            # It holds no references while it waits.
            del python_worker, job
