"""Reports the waits of each thread, for tests and programs that hang."""

import os
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from headrace.core import engine
from headrace.core.wait_registry import ExplainsWaits, python_waits, report_sections
from headrace.pipeline.run.batches import open_batches

__all__ = ["dump_waits", "dump_waits_on_signal"]

_TASKS: Final = Path("/proc/self/task")
# Thread states by the operating system's letters.
_STATES: Final = {"R": "running", "S": "sleeping", "D": "waiting for a disk", "T": "stopped"}
# The names of the engine's threads start with this.
_OWN_THREADS: Final = "headrace-"


def dump_waits(*, write: bool = True) -> str:
    """Reports why and how long each thread has been waiting.

    For each Python thread, the report contains its name, its stack and the reason for its wait
    inside headrace, such as a queue, a batch, storage or other threads. For each open pipeline, it
    shows the activity of the engine's threads and the running Python functions. It also lists the
    queues of each session and the open storage requests.

    The call does not stop anything. You can make it from any thread at any time. Waits shorter than
    0.05 s are not listed.

    Args:
        write: If True, also writes the report to stderr.

    Returns:
        The report as text.
    """
    text = "\n".join(_lines()) + "\n"
    if write:
        sys.stderr.write(text)
        sys.stderr.flush()
    return text


def dump_waits_on_signal(signum: int | None = None) -> None:
    """Calls `dump_waits` whenever the process receives a signal, for example from `kill -USR1 PID`.

    Python handles signals in the main thread, between two instructions. All waits inside headrace
    check for signals several times a second. If the main thread is running another library's native
    code, the report is written when that code returns. To see stacks even in that case, use
    `faulthandler.register`.

    Args:
        signum: The signal. Defaults to `signal.SIGUSR1`.

    Raises:
        ValueError: If this function is not called in the main thread, or the signal does not exist.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError(
            "dump_waits_on_signal: called in another thread, but only the main thread handles "
            "signals. Call it there."
        )
    signal.signal(signal.SIGUSR1 if signum is None else signum, _on_signal)


def _on_signal(signum: int, frame: FrameType | None) -> None:
    # The program must continue even if stderr is closed.
    with suppress(OSError, ValueError):
        dump_waits()


def _lines() -> Iterator[str]:
    waits = _WaitSnapshot()
    yield f"== waits of process {os.getpid()}, {time.strftime('%Y-%m-%d %H:%M:%S')}"
    threads = {thread.ident: thread for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        yield from _thread(ident, frame, threads.get(ident), waits)
    for batches in open_batches():
        first, *others = _safely(lambda batches=batches: batches.activity_lines(waits.first()))  # type: ignore[misc]
        yield f"-- {first}"
        yield from (f"   {line}" for line in others)
    for section in report_sections():
        first, *others = _safely(section)
        yield f"-- {first}"
        yield from (f"   {line}" for line in others)
    requests = engine.storage_requests()
    if requests:
        yield "-- storage requests"
        yield from (f"   {what}, for {seconds:.1f} s" for what, seconds in requests)
    explained = {thread.native_id for thread in threads.values()}
    for batches in open_batches():
        explained |= batches.worker_threads
    yield from _others(explained, waits)


class _WaitSnapshot:
    """The waits of all threads at one moment."""

    def __init__(self) -> None:
        self.of_python: defaultdict[int, list[str]] = defaultdict(list)
        now = time.monotonic()
        for thread, since, describe in python_waits():
            words = _safely(lambda describe=describe: [describe()])  # type: ignore[misc]
            self.of_python[thread].append(f"{words[0]}, for {now - since:.1f} s")
        # The waits by the operating system's thread ID.
        self.of_engine: defaultdict[int, list[str]] = defaultdict(list)
        for wait in engine.waits():
            text = " or ".join(_words(event.op, event.text, wait.watch) for event in wait.awaited)
            self.of_engine[wait.thread].append(f"{text}, for {wait.seconds:.1f} s")

    def first(self) -> dict[int, str]:
        """Returns the first wait of each engine thread, by the operating system's thread ID."""
        return {number: texts[0] for number, texts in self.of_engine.items()}

    def of(self, ident: int, number: int | None) -> list[str]:
        """Returns all waits of a thread, innermost last."""
        return self.of_python.get(ident, []) + self.of_engine.get(number or 0, [])


def _words(op: str | None, what: str | None, watch: Callable[..., object] | None) -> str:
    """Describes the wait of an operation or another caller."""
    why = None if op is None else f"operation '{op}'"
    if op is not None and isinstance(watch, ExplainsWaits):
        why = _safely(lambda: [watch.explain(op) or f"operation '{op}'"])[0]
    return "; ".join(words for words in (why, what) if words is not None) or "something"


def _thread(
    ident: int, frame: FrameType, thread: threading.Thread | None, waits: _WaitSnapshot
) -> Iterator[str]:
    name = "of another library" if thread is None else f"'{thread.name}'"
    number = None if thread is None else thread.native_id
    state = _state(number)
    yield f"-- thread {name}" + ("" if number is None else f" ({number}{state})")
    yield from (f"   waits for {text}" for text in waits.of(ident, number))
    for line in _stack(_without_this(frame)):
        yield from (f"   {part}" for part in line.rstrip().split("\n"))


def _without_this(frame: FrameType) -> FrameType:
    """Returns the frame that called `dump_waits`, or the frame itself."""
    outer = frame
    while outer.f_code.co_filename == __file__ and outer.f_back is not None:
        outer = outer.f_back
    return outer


def _stack(frame: FrameType) -> list[str]:
    """Returns the stack as text, without the frames at the start of every thread."""
    frames = traceback.extract_stack(frame)
    first = next((i for i, result in enumerate(frames) if result.filename != threading.__file__), 0)
    return traceback.format_list(frames[first:])


def _others(explained: set[int | None], waits: _WaitSnapshot) -> Iterator[str]:
    """Yields lines about the remaining engine threads, and about waits of unknown threads."""
    for path in sorted(_TASKS.iterdir()) if _TASKS.is_dir() else []:
        number = int(path.name)
        with suppress(OSError):  # The thread may have ended.
            name = (path / "comm").read_text().strip()
            if name.startswith(_OWN_THREADS) and number not in explained:
                yield f"-- thread '{name}' of the engine ({number}{_state(number)})"
                yield from (f"   waits for {text}" for text in waits.of(0, number))
    yield from (f"-- another thread waits for {text}" for text in waits.of_engine.get(0, ()))


def _state(number: int | None) -> str:
    """Describes a thread's OS-level state, or returns "" if unknown."""
    try:
        stat = (_TASKS / str(number) / "stat").read_text()
    except OSError:
        return ""
    return ", " + _STATES.get(stat.rpartition(")")[2].split()[0], "in another state")


def _safely(describe: Callable[[], Iterable[str]]) -> list[str]:
    """Returns the lines of a description, or the error it raises, so that the report continues."""
    try:
        return list(describe())
    except Exception as error:
        return [f"(cannot be described: {error!r})"]
