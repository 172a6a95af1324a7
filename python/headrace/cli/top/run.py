"""Measures running processes again and again, and prints the measurements."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from headrace.cli.failures import Failure
from headrace.cli.top.measurement import Measurements, lines_of
from headrace.cli.wording import echo_json
from headrace.pipeline.run.monitor import process_report, watched_processes

__all__ = ["show_command", "show_processes"]

_REMEDY: Final = (
    "Start the program with HEADRACE_TOP=1 in its environment, or run `headrace top COMMAND`. It "
    "reports once it iterates over a pipeline."
)
# Switches to the terminal's other screen, and back.
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"


def show_processes(process: int | None, interval_s: float, once: bool, as_json: bool) -> None:
    """Shows a process, or all processes of this user that report, until Ctrl-C.

    Args:
        process: The ID of the process, or None for all.
        interval_s: The time between two measurements.
        once: Whether to stop after the first measurement.
        as_json: Whether to print JSON and stop.

    Raises:
        Failure: If the process does not report, or no processes do.
    """
    measurements = Measurements()
    reports = _reports(process)
    if as_json:
        echo_json({"processes": reports})
        return
    # Rates are differences between two reports.
    measurements.add(reports)
    if once:
        time.sleep(interval_s)
        measurements.add(_reports(process))
        for line in lines_of(measurements):
            click.echo(line)
        return
    # The terminal's other screen has to be left before the program ends.
    with _handling(lambda number, _: sys.exit(128 + number)), _screen() as draw:
        while True:
            draw(list(lines_of(measurements)))
            time.sleep(interval_s)
            try:
                measurements.add(_reports(process))
            except Failure:  # It has ended.
                return


def show_command(command: Sequence[str], interval_s: float) -> int:
    """Runs a command and shows its processes. Returns its exit code.

    Raises:
        Failure: If the command cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                command,
                env={**os.environ, "HEADRACE_TOP": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror or error}.") from error

        def send_on(number: int, _: object) -> None:
            # Ctrl-C reaches the command too.
            if number != signal.SIGINT:
                child.send_signal(number)

        # This program ends after the command, even if there is no terminal any more.
        with _handling(send_on):
            try:
                _watch_child(child, interval_s)
            finally:
                child.wait()
        output.seek(0)
        shutil.copyfileobj(output, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _watch_child(child: subprocess.Popen[bytes], interval_s: float) -> None:
    measurements = Measurements()
    with _screen() as draw:
        while True:
            try:
                child.wait(interval_s)
                return
            except subprocess.TimeoutExpired:
                processes = [one for one in watched_processes() if _is_below(one, child.pid)]
                measurements.add(list(_available(processes)))
                draw(list(lines_of(measurements)))


def _reports(process: int | None) -> list[dict[str, Any]]:
    if process is None:
        reports = list(_available(watched_processes()))
        if not reports:
            raise Failure(f"top: none of your processes reports. {_REMEDY}")
        return reports
    try:
        return [process_report(process)]
    except OSError as error:
        is_running = os.path.exists(f"/proc/{process}")
        problem = "does not report" if is_running else "is not running"
        raise Failure(f"top: process {process} {problem}. {_REMEDY}") from error


def _available(processes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yields the reports of processes, except those that have just ended."""
    for process in processes:
        try:
            yield process_report(process)
        except OSError:
            continue


def _is_below(process: int, ancestor: int) -> bool:
    """Returns whether a process was started by another one, or is that one."""
    while process > 1:
        if process == ancestor:
            return True
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                # The name of the program is in parentheses, and may contain any characters.
                process = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@contextmanager
def _handling(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Handles the signals that end a program, except those that it ignores, as after `nohup`."""
    numbers = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    numbers -= {number for number in numbers if signal.getsignal(number) is signal.SIG_IGN}
    old = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in old.items():
            signal.signal(number, former)


@contextmanager
def _screen() -> Iterator[Any]:
    """Yields a function that draws lines over the last ones on a terminal.

    If stdout is not a terminal, each measurement is printed below the last one.
    """
    if not sys.stdout.isatty():
        yield lambda lines: click.echo("\n".join([*lines, ""]))
        return

    def draw(lines: Sequence[str]) -> None:
        columns, rows = shutil.get_terminal_size()
        shown = [f"{line[: columns - 1]}{_CLEAR_LINE}" for line in lines[: rows - 1]]
        sys.stdout.write(_HOME + "\n".join(shown) + "\n" + _CLEAR_BELOW)
        sys.stdout.flush()

    sys.stdout.write(_ENTER)
    try:
        yield draw
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
