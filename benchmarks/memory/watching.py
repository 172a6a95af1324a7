"""Watches the memory growth of a program from outside."""

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

READY = "ready"
"""Printed by a program before the measured part starts. It then waits for a line."""

SAMPLE_SECONDS = 0.004


def growth(
    *arguments: str, variables: Mapping[str, str] | None = None, directory: Path | None = None
) -> tuple[int, str]:
    """Measures the memory growth of a Python program that prints `READY` and one more line.

    Args:
        arguments: The interpreter's arguments.
        variables: The complete environment. None for this process's environment.
        directory: The working directory. None for this process's directory.

    Returns:
        The maximum growth of its heaps and stacks since it was ready, in bytes, and the line.

    Raises:
        RuntimeError: If the program failed.
    """
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=directory,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        if program.stdout.readline().strip() != READY:
            raise RuntimeError("a program whose memory is measured has failed before it was ready")
        before = anonymous_bytes(program.pid)
        most = [before]
        is_over = threading.Event()
        watch = threading.Thread(target=_watch, args=(program.pid, most, is_over))
        watch.start()
        try:
            program.stdin.write("\n")
            program.stdin.flush()
            line = program.stdout.readline()
        finally:
            is_over.set()
            watch.join()
    if not line:
        raise RuntimeError("a program whose memory is measured has failed")
    return most[0] - before, line


def anonymous_bytes(pid: int | str = "self") -> int:
    """Returns the memory used by the heaps and stacks of this or another process.

    A process that has ended, but whose parent has not waited for it, uses none.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = (int(line.split()[1]) * 1_024 for line in lines if line.startswith("RssAnon:"))
    return next(sizes, 0)


def _watch(pid: int, most: list[int], is_over: threading.Event) -> None:
    while not is_over.wait(SAMPLE_SECONDS):
        most[0] = max(most[0], anonymous_bytes(pid))
