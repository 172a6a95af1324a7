"""Runs a program and measures the CPU time and memory of all its processes from outside."""

import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.05

# Modules are compiled once, like installed packages, regardless of the shell's settings.
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}


@dataclass(frozen=True)
class Run:
    """The output of a program, and its time and memory.

    Attributes:
        output: Its standard output.
        failure: The last line of its standard error if it failed, otherwise "".
        started_at: The start time, as returned by `time.monotonic`.
        cpu_seconds: The CPU time of all its processes.
        peak_bytes: The peak memory of all its processes together. Pages that several processes
            share count once.
    """

    output: str
    failure: str
    started_at: float
    cpu_seconds: float
    peak_bytes: int


def run(
    command: Sequence[str | Path], timeout: float, variables: Mapping[str, str] | None = None
) -> Run:
    """Runs a program until it ends.

    Args:
        command: The command line, beginning with the interpreter.
        timeout: The number of seconds after which all its processes are killed.
        variables: Additional environment variables.
    """
    before = _cpu_seconds_of_children()
    started_at = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        program = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=errors,
            env={**os.environ, **COMPILED, **(variables or {})},
            start_new_session=True,
        )
        with _MemoryWatch(program.pid) as watch:
            try:
                program.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
        output.seek(0)
        errors.seek(0)
        text = output.read()
        failure = _failure(program.returncode, errors.read(), timeout)
    cpu_seconds = _cpu_seconds_of_children() - before
    return Run(text, failure, started_at, cpu_seconds, watch.peak_bytes)


def _failure(status: int, errors: str, timeout: float) -> str:
    if status == 0:
        return ""
    if status == -signal.SIGKILL:
        return f"killed, perhaps since it was not done after {timeout:.0f} s"
    return (errors.strip().splitlines() or [f"exit status {status}"])[-1]


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _MemoryWatch:
    """Samples the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory watch")

    def __enter__(self) -> "_MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(map(_memory_of, _family(self._pid))))


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    results = [pid]
    for member in results:
        try:
            for task in os.listdir(f"/proc/{member}/task"):
                children = Path(f"/proc/{member}/task/{task}/children").read_text()
                results += map(int, children.split())
        except OSError:
            pass  # The process has just ended.
    return results


def _memory_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # The process has just ended.
    return next((int(line.split()[1]) * 1_024 for line in lines if line.startswith("Pss:")), 0)
