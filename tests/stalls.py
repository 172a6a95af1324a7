"""A pytest plugin that reports the waits of all threads when a test times out."""

from typing import Any

import pytest_timeout

from headrace.testing import dump_waits


def pytest_configure() -> None:
    """Replaces the output of pytest-timeout, which contains only stacks.

    It writes from the signal handler or the thread that ends the test, without a thread of its own,
    which tests would find.
    """
    pytest_timeout.dump_stacks = _dump


def _dump(terminal: Any) -> None:
    terminal.line()
    terminal.write(dump_waits(write=False))
