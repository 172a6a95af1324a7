"""A watchdog that logs the names of functions and reads that take too long."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker

__all__ = ["named_if_stuck", "watch"]

_LOGGER: Final = logging.getLogger("headrace.pipeline")
# How many times to check before a warning is due.
_LOOKS: Final = 4


def watch(
    execution: engine.Execution,
    find_python_workers: Sequence[Callable[[], PythonWorker | None]],
    names: Sequence[str],
    seconds: float,
    is_over: threading.Event,
) -> None:
    """Warns once about each call and each read that takes longer than `seconds`.

    Args:
        execution: The execution of a pipeline.
        find_python_workers: Functions that return the Python workers, or None once the iteration is
            gone.
        names: The names of the pipeline's stages, by the numbers under which they are measured.
        seconds: The time in seconds that each may take.
        is_over: An event that is set at the end, and stops this function.
    """
    since: dict[object, float] = {}
    warned: set[object] = set()
    while not is_over.wait(seconds / _LOOKS):
        now = time.monotonic()
        python_workers = [
            python_worker for find in find_python_workers if (python_worker := find()) is not None
        ]
        calls = dict(_under_way(execution, python_workers, names))
        del python_workers
        since = {key: since.get(key, now) for key in calls}
        warned &= calls.keys()
        for key, text in calls.items():
            if now - since[key] >= seconds and key not in warned:
                warned.add(key)
                _warn(text, seconds)


class _StuckTimer:
    def __init__(self, timer: threading.Timer) -> None:
        self._timer = timer

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        self._timer.join()


def named_if_stuck(text: str, seconds: float | None) -> AbstractContextManager[None]:
    """Warns once if the body takes longer than `seconds`.

    Args:
        text: A description of the body, for the message.
        seconds: The time in seconds that it may take, or None for no limit.
    """
    if seconds is None:
        return nullcontext()
    timer = threading.Timer(seconds, _warn, (text, seconds))
    timer.daemon = True
    timer.name = "headrace-watch"
    return _StuckTimer(timer)


def _warn(text: str, seconds: float) -> None:
    _LOGGER.warning("%s has taken more than %g s and is still running", text, seconds)


def _under_way(
    execution: engine.Execution, python_workers: Sequence[PythonWorker], names: Sequence[str]
) -> Iterator[tuple[object, str]]:
    """Yields each running call and read, with a unique key and a text."""
    for read in execution.reads():
        yield ("read", read.number), f"{names[read.stage]}: reading {read.text}"
    for python_worker in python_workers:
        for calls in list(python_worker.running.values()):
            number, doing = calls.number, calls.doing
            if doing is not None:
                yield (calls, number, doing), f"{calls.where}: {doing}"
