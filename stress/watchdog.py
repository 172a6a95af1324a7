"""Ends a process that hangs, and prints a description and all stacks."""

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deadline"]

SECONDS = 60.0


@contextmanager
def deadline(what: str, seconds: float = SECONDS) -> Iterator[None]:
    """Exits the process with 3 if the body takes too long, and prints where it hung.

    Args:
        what: The case, and how to reproduce it.
        seconds: The time limit.

    Yields:
        Nothing.
    """
    timer = threading.Timer(seconds, _end, (what, seconds))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _end(what: str, seconds: float) -> None:
    print(f"FAILED: {what}: a hang of more than {seconds:g} s", flush=True)
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    os._exit(3)
