"""Progress bars, in terminals and notebooks."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Final, Self

from headrace.core.repr_prefix import printable

__all__ = ["Bar", "LoopBar", "loop_bar", "terminal_bar"]

# How often plain lines are written, in seconds: over the last line on a terminal, or as new lines.
_TERMINAL_INTERVAL_S: Final = 0.2
_LOG_INTERVAL_S: Final = 30.0


class Bar:
    """A progress bar on stderr, shown if stderr is a terminal and tqdm is installed.

    Args:
        what: A one- or two-word description of the work.
        total: The number of units, or None if it is unknown.
        unit: The unit: "B" for bytes.
        is_wanted: Whether to show the bar at all.
    """

    def __init__(
        self, what: str, total: int | None, unit: str = " records", is_wanted: bool = True
    ) -> None:
        is_shown = is_wanted and sys.stderr.isatty() and find_spec("tqdm") is not None
        self._bar = _bar(what, total, unit) if is_shown else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def move_to(self, number: int) -> None:
        """Shows how many units are finished."""
        if self._bar is not None:
            self._bar.update(number - self._bar.n)

    def advance(self, number: int = 1) -> None:
        """Adds to the number of finished units."""
        if self._bar is not None:
            self._bar.update(number)


def _bar(what: str, total: int | None, unit: str) -> Any:
    return terminal_bar(
        desc=printable(what),
        total=total,
        unit=unit,
        unit_scale=True,
        unit_divisor=1024 if unit == "B" else 1000,
        leave=False,
    )


def terminal_bar(**options: Any) -> Any:
    """Returns a tqdm bar for stderr, which must be a terminal.

    Args:
        options: More arguments for tqdm.
    """
    tqdm: Any = import_module("tqdm").tqdm
    # Without these settings, tqdm starts a thread that outlives the bar and creates a
    # multiprocessing lock.
    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    # Unlike tqdm, this falls back to a default size if a terminal reports 0 x 0.
    size = shutil.get_terminal_size()
    return tqdm(ncols=size.columns, nrows=size.lines, file=sys.stderr, **options)


class LoopBar:
    """Prints the progress of a loop to stderr as lines of text.

    Used if tqdm is not installed or stderr is not a terminal.

    Args:
        what: A short description of the loop, which may be empty.
        total: The number of units, or None if it is unknown.
        initial: The number of units that were finished earlier.
        unit: The unit in the plural, such as "batches".
    """

    def __init__(self, what: str, total: int | None, initial: int, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._initial = self._number = initial
        self._begin = self._last = time.monotonic()
        self._note = ""
        self._is_open = True
        # Whether a line can replace the last one.
        self._is_terminal = sys.stderr.isatty() or _is_notebook()
        self._width = 0

    def move_to(self, number: int, note: str | None = None) -> None:
        """Shows how many units are finished. `note` replaces the text at the end."""
        self._number, self._note = number, self._note if note is None else note
        interval = _TERMINAL_INTERVAL_S if self._is_terminal else _LOG_INTERVAL_S
        if time.monotonic() - self._last >= interval:
            self._last = time.monotonic()
            self._write("")

    def close(self) -> None:
        """Writes the last line. Short loops leave no line behind, unless stderr is a terminal."""
        is_open, self._is_open = self._is_open, False
        if is_open and (self._is_terminal or self._last > self._begin):
            self._write("\n")

    def _write(self, end: str) -> None:
        # A user may have closed or replaced stderr.
        if sys.stderr is None or sys.stderr.closed:
            return
        text = self._text()
        text, self._width = text.ljust(self._width), len(text)
        sys.stderr.write(f"\r{text}{end}" if self._is_terminal else f"{text}\n")
        sys.stderr.flush()

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._begin, 1e-9)
        rate = (self._number - self._initial) / seconds
        of = "" if self._total is None else f" of {self._total:,}"
        parts = [f"{self._number:,}{of} {self._unit}", f"{rate:,.4g}/s"]
        if self._total is not None and rate > 0:
            parts.append(f"{_clock((self._total - self._number) / rate)} left")
        text = ", ".join([*parts, *([self._note] if self._note else [])])
        return f"{self._what}: {text}" if self._what else text


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _TqdmBar(LoopBar):
    """The progress of a loop, as a bar of tqdm."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def move_to(self, number: int, note: str | None = None) -> None:
        if note is not None:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(number - self._bar.n)

    def close(self) -> None:
        self._bar.close()


def loop_bar(what: str, total: int | None, initial: int, unit: str) -> LoopBar:
    """Returns a progress bar for a user's loop.

    It is tqdm's bar in notebooks and terminals, if tqdm is installed. Otherwise, it writes lines to
    stderr.

    Args:
        what: A short description of the loop, which may be empty.
        total: The number of units, or None if it is unknown.
        initial: The number of units that were finished earlier.
        unit: The unit in the plural, such as "batches".
    """
    what = printable(what)
    is_notebook = _is_notebook()
    if find_spec("tqdm") is None or not (is_notebook or sys.stderr.isatty()):
        return LoopBar(what, total, initial, unit)
    options = {"desc": what or None, "total": total, "initial": initial, "unit": f" {unit}"}
    if is_notebook and find_spec("ipywidgets") is not None:
        return _TqdmBar(_quiet("tqdm.notebook", "tqdm_notebook")(**options))
    return _TqdmBar(_quiet("tqdm", "tqdm")(**options, dynamic_ncols=True))


@cache
def _quiet(module: str, name: str) -> Any:
    """Returns one of tqdm's classes, without its thread and its lock of multiprocessing.

    The settings apply to the new class only, and not to bars of the user's program.
    """
    quiet = type(name, (getattr(import_module(module), name),), {"monitor_interval": 0})
    quiet.set_lock(threading.RLock())  # type: ignore[attr-defined]
    return quiet


def _is_notebook() -> bool:
    """Returns whether this process is a notebook's kernel."""
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    return getattr(current, "kernel", None) is not None
