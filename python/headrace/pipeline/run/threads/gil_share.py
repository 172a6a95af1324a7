"""Measures how much of their time Python functions hold the GIL.

A thread takes the GIL now and then. Where that takes no time, nobody held it at that moment, so the
functions that were called at that moment had released it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from headrace.core import engine
from headrace.pipeline.plan.functions.python_functions import Lane

__all__ = ["GilShares", "look_at_gil"]

_SECONDS_BETWEEN: Final = 0.02
# After so many looks, which tell the share to a few percent, they are fewer.
_MANY_LOOKS: Final = 100
_SECONDS_LATER: Final = 0.1
# Taking a lock that nobody holds takes a few microseconds, unless another thread gets the processor
# just then.
_LEAST_WAIT_S: Final = 0.0001
_LEAST_LOOKS: Final = 5


class GilShares:
    """The rate at which the GIL was held while each function was called.

    Written by the thread that looks, and read by whoever asks.
    """

    def __init__(self, num_functions: int) -> None:
        self._num_looks = [0] * num_functions
        self._num_held = [0] * num_functions

    def note(self, function: int, is_held: bool) -> None:
        """Notes whether the GIL was held at a moment at which a function was called."""
        self._num_looks[function] += 1
        self._num_held[function] += is_held

    def of(self, function: int) -> float | None:
        """Returns the share of the time of a function; None if too few moments are known."""
        if self._num_looks[function] < _LEAST_LOOKS:
            return None
        return self._num_held[function] / self._num_looks[function]


def look_at_gil(
    execution: engine.Execution,
    find_lanes: Sequence[Callable[[], Lane | None]],
    shares: GilShares,
) -> None:
    """Looks until the iteration is closed.

    Args:
        execution: The execution of a pipeline.
        find_lanes: Return what its threads for Python functions do; None once nobody holds that.
        shares: Gets what is found.
    """
    num_looks = 0
    while True:
        seconds = _SECONDS_BETWEEN if num_looks < _MANY_LOOKS else _SECONDS_LATER
        if (waited := execution.wait_for_gil(seconds)) is None:
            return
        num_looks += 1
        for number, find in enumerate(find_lanes):
            lane = find()
            if lane is not None and lane.running:
                shares.note(number, waited >= _LEAST_WAIT_S)
            del lane
