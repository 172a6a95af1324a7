"""Detects changes in the machine's speed by timing a fixed loop between runs.

Cloud machines can switch, for seconds or hours, to a state in which the same work takes 1.4 times
as much CPU time. Two runs are comparable only if the machine was in the same state.
"""

import time
from collections.abc import Iterable

import numpy as np

CHANGE = 1.18
"""If the ratio of two loop times is at least this, they come from different states. This is the
square root of the states' ratio."""
_REPEATS = 5
_NUMBERS = np.random.default_rng(0).integers(0, 1 << 30, 100_000)


def loop_seconds() -> float:
    """Returns the CPU time of a fixed Python and NumPy loop: the minimum of several runs."""
    return min(_once() for _ in range(_REPEATS))


def _once() -> float:
    begin = time.thread_time()
    total = 0
    for number in range(60_000):
        total += number * number % 7
    np.sort(_NUMBERS)
    return time.thread_time() - begin


def is_same_state(*seconds: float) -> bool:
    """Returns whether all loop times come from the same state."""
    return max(seconds) < CHANGE * min(seconds)


def description(seconds: Iterable[float], num_repeated: int, num_unsettled: int) -> str:
    """Returns a line about the machine's state.

    Args:
        seconds: The loop's times between the runs.
        num_repeated: The number of runs repeated because the state changed.
        num_unsettled: The number of runs that count even though it changed each time.
    """
    milliseconds = [1e3 * each for each in seconds]
    if not milliseconds:
        return "The machine's speed was not measured."
    least, most = min(milliseconds), max(milliseconds)
    text = f"The machine: a fixed loop took {least:.1f} to {most:.1f} ms between the runs"
    if num_repeated:
        text += f"; runs repeated because its speed had changed: {num_repeated}"
    if num_unsettled:
        text += f"; runs that count although it changed every time: {num_unsettled}"
    return f"{text}."
