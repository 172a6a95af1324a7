"""Runs programs one after the other. Ctrl-C can end them at any time.

A KeyboardInterrupt can be raised between any two instructions, for example after a directory was
created and before its removal was registered. Here, a signal raises no exception. Instead, it
writes a byte to a pipe. Only the code that waits for the running program reads this pipe.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from types import FrameType, TracebackType
from typing import Final, Self

import click

from headrace.cli.interrupts import Interrupted, ending_signals

# NumPy's threads spin while they wait for each other. With a pipeline's busy threads and such small
# matrices, this makes training several times slower. Variables that the user has set are kept.
_ONE_BLAS_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ProgramFailed(Exception):
    """A program printed a message to stderr and ended with an exit code other than 0.

    Attributes:
        exit_code: The exit code of the program.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class Foreground:
    """Runs Python programs, one at a time. Only for the main thread.

    Inside a `with` block, SIGINT, SIGTERM and SIGHUP end the running program and nothing else.
    """

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._old_writer = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._old_handlers = {
            number: signal.signal(number, _note) for number in (signal.SIGCHLD, *ending_signals())
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_writer)
        os.close(self._reader)
        os.close(self._writer)

    def run(self, module: str, *arguments: str) -> None:
        """Runs ``python -m module arguments`` and waits until it ends.

        Raises:
            Interrupted: If a signal arrived. The program has been killed.
            ProgramFailed: If the program ended with an exit code other than 0.
        """
        child = _start([sys.executable, "-P", "-m", module, *arguments])
        try:
            while child.poll() is None:
                select.select([self._reader], [], [])
                self._raise_if_interrupted()
        finally:
            # All files of the program are in our directory, so it can be killed.
            child.kill()
            child.wait()
        self._raise_if_interrupted()
        if child.returncode < 0:
            name = signal.Signals(-child.returncode).name
            raise click.ClickException(f"{module} crashed or was killed ({name}).")
        if child.returncode:
            raise ProgramFailed(child.returncode)

    def _raise_if_interrupted(self) -> None:
        """Reads the pipe. It contains the number of each signal since the last call, as a byte."""
        try:
            numbers = os.read(self._reader, 4096)
        except BlockingIOError:
            return
        for number in numbers:
            if number != signal.SIGCHLD:
                raise Interrupted(number)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Does nothing, because the interpreter has already written the signal's number to the pipe."""


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Starts a program in which SIGINT stays blocked.

    A terminal also sends Ctrl-C to the program, which ignores it. This process ends the program.
    """
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env={**_ONE_BLAS_THREAD, **os.environ}
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
