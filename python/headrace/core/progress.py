"""A progress bar. Nothing is shown if stderr is not a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from headrace.core.repr_prefix import printable

__all__ = ["Bar", "terminal_bar"]


class Bar:
    """A progress bar on stderr, shown if stderr is a terminal and tqdm is installed.

    Args:
        what: A one- or two-word description of the work.
        total: The number of units; None if it is unknown.
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
