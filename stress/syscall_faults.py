"""Uses strace to kill programs, or let system calls fail, at each call of a kind."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "READING",
    "WRITING",
    "calls_in",
    "counted",
    "has_hit",
    "in_child",
    "is_closed_again",
    "is_there",
    "run",
]

# All calls that change files.
WRITING = (
    *("write", "pwrite64", "writev", "ftruncate", "fsync", "fdatasync", "rename", "renameat"),
    *("renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "fchmod", "linkat"),
    *("copy_file_range", "sendfile", "utimensat"),
)
# These calls also occur for files that are read.
OPENING = ("openat", "close")
# All calls that find, open and read files.
READING = (
    *("open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "readlink", "getdents64"),
    *("read", "pread64", "readv", "preadv", "preadv2", "lseek", "mmap", "fadvise64", "close"),
)
_SECONDS = 120
_PR_SET_PTRACER = 0x59616D61
_ANYBODY = -1


def is_there() -> bool:
    """Returns whether strace is installed and may trace."""
    result = shutil.which("strace")
    if result is None:
        return False
    command = [result, "-qq", "-o", os.devnull, "true"]
    return subprocess.run(command, check=False).returncode == 0


def run(
    writer: str, directory: Path, seed: int, inject: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a writer to its end.

    Args:
        writer: Its name in `stress.programs.writers`.
        directory: The directory to write to.
        seed: The seed of the contents.
        inject: The fault in strace's syntax, or None.

    Raises:
        subprocess.TimeoutExpired: If it hangs.
    """
    command = [sys.executable, "-m", "stress.programs.writers", writer, str(directory), str(seed)]
    if inject is not None:
        trace = ["-f", "-y", "-qq", "-o", str(directory.with_suffix(".trace"))]
        calls = ",".join((*WRITING, *OPENING))
        command = ["strace", *trace, "-e", f"trace={calls}", *inject.split(), *command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.getcwd()}
    # Uses a new process group, because killing strace leaves the traced program running.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, error = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, error)


def in_child(function: Callable[[], Any], path: Path, inject: str, trace: Path) -> Any:
    """Calls a function in a child process, while strace traces its calls for a path.

    Args:
        function: A function whose result can be stored as JSON.
        path: The path. Calls for other paths are not changed.
        inject: The fault in strace's syntax, or an empty string.
        trace: The file to which strace writes the calls.

    Returns:
        The result of the function.

    Raises:
        RuntimeError: If the child or strace fails.
    """
    to_child, go = os.pipe()
    answer, from_child = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.close(answer)
        _answer(function, to_child, from_child)
    os.close(to_child)
    os.close(from_child)
    calls = ["-e", f"trace={','.join(READING)}", "-P", str(path)]
    command = ["strace", "-f", "-o", str(trace), "-p", str(child), *calls, *inject.split()]
    with (
        open(answer, "rb") as answered,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace,
    ):
        assert strace.stderr is not None
        attached = strace.stderr.readline()
        os.close(go)
        data = answered.read()
        _, status = os.waitpid(child, 0)
        said = attached + strace.stderr.read()
    if "attached" not in attached or strace.returncode or not data:
        code = os.waitstatus_to_exitcode(status)
        raise RuntimeError(f"the child ended with {code}, strace with {strace.returncode}: {said}")
    return json.loads(data)


def _answer(function: Callable[[], Any], begin: int, out: int) -> None:
    """Waits until a pipe is closed, and writes the result of a function to another pipe."""
    # Allows strace to trace this process if only parents may do so.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANYBODY, 0, 0, 0)
    code = 1
    try:
        os.read(begin, 1)
        with open(out, "w", closefd=False) as file:
            json.dump(function(), file)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def has_hit(directory: Path) -> bool:
    """Returns whether the call that failed in the last run used a file in the directory.

    Other calls wake threads or write to the terminal.
    """
    return _hit(directory) is not None


def is_closed_again(directory: Path) -> bool:
    """Returns whether a close failed right after another close in the last run."""
    lines = _lines_about(directory, directory.with_suffix(".trace"))
    hit = _hit(directory)
    if hit is None:
        return False
    [path] = re.findall(r"close\(\d+<(.*?)>", hit) or [""]
    before = [line for line in lines[: lines.index(hit)] if f"<{path}>" in line]
    return bool(path and before) and " close(" in before[-1]


def _hit(directory: Path) -> str | None:
    lines = _lines_about(directory, directory.with_suffix(".trace"))
    return next((line for line in lines if "(INJECTED)" in line), None)


def _lines_about(directory: Path, trace: Path) -> list[str]:
    return [line for line in trace.read_text().splitlines() if str(directory) in line]


def counted(writer: str, directory: Path) -> dict[str, list[int]]:
    """Returns the calls of each kind that a writer makes, counted from 1 in each thread.

    Calls that open and close files count only for written files in the directory. The same applies
    to a cache's writes, because its threads wake each other with other writes, which cannot fail.
    """
    run(writer, directory, 1, inject="")
    trace = directory.with_suffix(".trace")
    numbers = {call: list(range(1, count + 1)) for call, count in calls_in(trace).items()}
    calls = (*OPENING, "write") if writer == "cached" else OPENING
    return {**numbers, **{call: _about(directory, call, trace) for call in calls}}


def _about(directory: Path, call: str, trace: Path) -> list[int]:
    """Returns the numbers of the calls of a kind that use a written file."""
    text = trace.read_text()
    written = re.findall(r"O_(?:WRONLY|RDWR).* = \d+<(.*?)>$", text, re.MULTILINE)
    paths = {path for path in written if path.startswith(str(directory))}
    seen: Counter[str] = Counter()
    numbers = set()
    for line in text.splitlines():
        if match := re.match(rf"(\d+) +{call}\(", line):
            seen[match[1]] += 1
            if any(f"<{path}>" in line for path in paths):
                numbers.add(seen[match[1]])
    return sorted(numbers)


def calls_in(trace: Path) -> dict[str, int]:
    """Returns the number of calls of each kind in the thread that made the most calls."""
    calls = Counter(re.findall(r"^(\d+) +(\w+)\(", trace.read_text(), re.MULTILINE))
    most: dict[str, int] = {}
    for (_, name), count in calls.items():
        most[name] = max(most.get(name, 0), count)
    return most
