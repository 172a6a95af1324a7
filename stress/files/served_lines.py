"""Serves files of lines, for tests of remote files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.io.storage.server import Server

__all__ = ["served_lines"]


@contextmanager
def served_lines() -> Iterator[None]:
    """Serves two files of lines, `0` and `1`, at the URL in the variable STRESS_URL."""
    with Server() as server:
        for name in ("0", "1"):
            lines = (f"line {number} of {name}\n".encode() for number in range(120_000))
            server.files[name] = b"".join(lines)
        os.environ["STRESS_URL"] = server.url
        yield
