"""Programs that strace kills, or whose system calls fail, at one call of a kind after the other."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

__all__ = ["WRITING", "counted", "has_hit", "is_there", "run"]

# All calls that change files.
WRITING = (
    *("write", "pwrite64", "writev", "ftruncate", "fsync", "fdatasync", "rename", "renameat"),
    *("renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "fchmod", "linkat"),
    *("copy_file_range", "sendfile", "utimensat"),
)
_SECONDS = 120


def is_there() -> bool:
    """Returns whether strace is there, and may trace."""
    found = shutil.which("strace")
    if found is None:
        return False
    command = [found, "-qq", "-o", os.devnull, "true"]
    return subprocess.run(command, check=False).returncode == 0


def run(
    writer: str, directory: Path, seed: int, inject: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a writer to its end.

    Args:
        writer: Its name in `torture.writers`.
        directory: Where it writes.
        seed: What it writes.
        inject: What strace does, in its own words; None to leave it alone.

    Raises:
        subprocess.TimeoutExpired: If it hangs.
    """
    command = [sys.executable, "-m", "torture.writers", writer, str(directory), str(seed)]
    if inject is not None:
        trace = ["-f", "-y", "-qq", "-o", str(directory.with_suffix(".trace"))]
        command = ["strace", *trace, "-e", f"trace={','.join(WRITING)}", *inject.split(), *command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.getcwd()}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=environment
    )


def has_hit(directory: Path) -> bool:
    """Returns whether the call that failed in the last run was about a file in the directory.

    Others wake threads or write to the terminal.
    """
    trace = directory.with_suffix(".trace").read_text()
    return any("(INJECTED)" in line and str(directory) in line for line in trace.splitlines())


def counted(writer: str, directory: Path) -> dict[str, int]:
    """Returns how many calls of each kind a writer makes, in the thread that makes most."""
    run(writer, directory, 1, inject="")
    trace = directory.with_suffix(".trace").read_text()
    calls = Counter(re.findall(r"^(\d+) +(\w+)\(", trace, re.MULTILINE))
    most: dict[str, int] = {}
    for (_, name), count in calls.items():
        most[name] = max(most.get(name, 0), count)
    return most
