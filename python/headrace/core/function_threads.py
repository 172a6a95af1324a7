"""Marks the threads that call pipelines' Python functions. They must not extend graphs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["calling_functions", "check_makes_nodes"]

_thread: Final = threading.local()


@contextmanager
def calling_functions() -> Iterator[None]:
    """Marks the current thread, inside the context, as calling a pipeline's functions."""
    _thread.calls_functions = True
    try:
        yield
    finally:
        _thread.calls_functions = False


def check_makes_nodes() -> None:
    """Checks that a pipeline's Python function does not add nodes to the default graph.

    Raises:
        TypeError: If this thread is calling such a function. Each call would add nodes that are
            never computed.
    """
    if getattr(_thread, "calls_functions", False):
        raise TypeError(
            "A Python function in a pipeline called an operation from headrace.ops, but such "
            "functions receive NumPy values. Mark the function with @native to let the "
            "engine compute its operations, or call NumPy instead."
        )
