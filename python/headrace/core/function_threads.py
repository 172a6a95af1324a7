"""Threads that call the Python functions of pipelines, in which no nodes of a graph are made."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["calling_functions", "check_makes_nodes"]

_thread: Final = threading.local()


@contextmanager
def calling_functions() -> Iterator[None]:
    """Marks this thread, inside of the context, as one that calls functions of a pipeline."""
    _thread.calls_functions = True
    try:
        yield
    finally:
        _thread.calls_functions = False


def check_makes_nodes() -> None:
    """Checks that a node of the default graph is not made by a Python function of a pipeline.

    Raises:
        TypeError: If this thread calls such a function: each call would add nodes, and none of them
            would be computed.
    """
    if getattr(_thread, "calls_functions", False):
        raise TypeError(
            "An operation of headrace.ops was called in a Python function of a pipeline, which is "
            "called with NumPy values. Mark the function with @native, so that the engine computes "
            "its operations, or call NumPy instead."
        )
