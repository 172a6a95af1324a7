"""Measures how much of their run time Python functions spend holding the GIL.

A thread takes the GIL at regular intervals. If that takes no time, no other thread held it at that
moment, so the running functions had released it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker

__all__ = ["GilShares", "look_at_gil"]

_SECONDS_BETWEEN: Final = 0.02
# This many samples are accurate to a few percent. After that, samples are taken less often.
_MANY_LOOKS: Final = 100
_SECONDS_LATER: Final = 0.1
# Taking a free lock takes a few microseconds, unless a different thread gets the processor at that
# moment.
_LEAST_WAIT_S: Final = 0.0001
_LEAST_LOOKS: Final = 5


class GilShares:
    """For each function, the share of samples in which the GIL was held while it ran.

    The sampling thread writes it, and any thread reads it.
    """

    def __init__(self, num_functions: int) -> None:
        self._num_looks = [0] * num_functions
        self._num_held = [0] * num_functions

    def note(self, function: int, is_held: bool) -> None:
        """Adds a sample: whether the GIL was held while a function ran."""
        self._num_looks[function] += 1
        self._num_held[function] += is_held

    def of(self, function: int) -> float | None:
        """Returns the share for a function, from 0.0 to 1.0, or None if it has too few samples."""
        if self._num_looks[function] < _LEAST_LOOKS:
            return None
        return self._num_held[function] / self._num_looks[function]


def look_at_gil(
    execution: engine.Execution,
    find_python_workers: Sequence[Callable[[], PythonWorker | None]],
    shares: GilShares,
) -> None:
    """Samples the GIL until the iteration is closed.

    Args:
        execution: The execution of a pipeline.
        find_python_workers: Functions that return the Python workers, or None once the iteration is
            gone.
        shares: Receives the samples.
    """
    num_looks = 0
    while True:
        seconds = _SECONDS_BETWEEN if num_looks < _MANY_LOOKS else _SECONDS_LATER
        if (waited := execution.wait_for_gil(seconds)) is None:
            return
        num_looks += 1
        for number, find in enumerate(find_python_workers):
            python_worker = find()
            if python_worker is not None and python_worker.running:
                shares.note(number, waited >= _LEAST_WAIT_S)
            del python_worker
