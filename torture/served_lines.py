"""A server with a file of lines, for those who read remote files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.storage.server import Server

__all__ = ["served_lines"]


@contextmanager
def served_lines() -> Iterator[None]:
    """Serves a file of lines as the variable TORTURE_URL of the environment says."""
    with Server() as server:
        server.files["lines"] = b"".join(b"line %d\n" % number for number in range(120_000))
        os.environ["TORTURE_URL"] = f"{server.url}/lines"
        yield
