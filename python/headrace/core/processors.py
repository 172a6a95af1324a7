"""The number of processors that this process may use."""

import os

__all__ = ["num_cores"]


def num_cores() -> int:
    """Returns how many processors this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
