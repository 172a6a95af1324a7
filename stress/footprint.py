"""The threads, open files and memory of a process, and their growth."""

import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SETTLING_SECONDS = 10.0
"""How long threads that were asked to end may take."""

_STATUS = Path("/proc/self/status")
# The engine's allocator returns pages after a second without use.
_DECAY_SECONDS = 1.2


@dataclass(frozen=True)
class Footprint:
    """The footprint of the process at one moment.

    Attributes:
        threads: Threads of Python and of the engine, as counted by the system.
        descriptors: Open files, sockets and pipes.
        blocks: Python's allocated memory blocks, which reveal a leaked object immediately.
        num_bytes: The used memory of heaps and stacks.
    """

    threads: int
    descriptors: int
    blocks: int
    num_bytes: int


def footprint(threads: int | None = None) -> Footprint:
    """Collects garbage and measures the process.

    Args:
        threads: The expected number of threads. Waits a moment until others have ended.
    """
    collect()
    deadline = time.monotonic() + SETTLING_SECONDS
    while threads is not None and _count("task") > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    collect()
    time.sleep(_DECAY_SECONDS)
    ctypes.CDLL(None).malloc_trim(0)
    blocks = sys.getallocatedblocks()
    return Footprint(_count("task"), _count("fd"), blocks, _anonymous_bytes())


def collect() -> None:
    """Collects garbage. The first call freezes all objects that exist by then."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
    gc.collect()


def become(condition: Callable[[], bool]) -> bool:
    """Waits for a condition for a limited time, and returns whether it became true."""
    deadline = time.monotonic() + SETTLING_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
        gc.collect()
    return True


def slope(values: Sequence[float]) -> float:
    """Returns the growth per value, as the least-squares slope over the second half."""
    half = values[len(values) // 2 :]
    if len(half) < 2:
        return 0.0
    middle, mean = (len(half) - 1) / 2, sum(half) / len(half)
    above = sum((position - middle) * (value - mean) for position, value in enumerate(half))
    return above / sum((position - middle) ** 2 for position in range(len(half)))


def _count(what: str) -> int:
    return len(os.listdir(f"/proc/self/{what}"))


def _anonymous_bytes() -> int:
    lines = _STATUS.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
