"""The failures of commands.

A user's mistake results in one line on stderr and an exit code, never in a traceback.

The exit codes are 0 for success, 1 for failures, 2 for wrong usage (set by click), and 128 plus the
signal number if a signal ended the command, as in shells.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import IO, Any, Final

import click

from headrace.core.repr_prefix import printable_lines, without_passwords

__all__ = ["Commands", "Failure", "failure_of"]

_BROKEN_PIPE: Final = 128 + signal.SIGPIPE


class Failure(click.ClickException):
    """A command failed because of the data or the machine.

    The message names the file and suggests a fix.
    """

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the message on one line."""
        text = printable_lines(without_passwords(self.format_message()))
        click.echo(f"headrace: {text}", file=file, err=file is None)


class Commands(click.Group):
    """A group of commands that prints known errors as one line and accepts closed pipes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader of the pipe has exited, so the interpreter must not flush into the pipe
            # again.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            ctx.exit(_BROKEN_PIPE)
        except click.UsageError as error:
            masked = without_passwords(error.format_message())
            raise click.UsageError(masked, error.ctx) from error
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            raise failure from error
        return result


def _as_command(text: str) -> str:
    """Replaces Python arguments in the remedy of a message with command-line options."""
    text = text.replace(", or read it as hr.Nullable(...), which adds a mask", "")
    text = re.sub(r"dtypes=\{'([^']*)': [^{}]*\}", r"--column '\1=TYPE'", text)
    return re.sub(r"defaults=\{'([^']*)': \.\.\.\}", r"--default '\1=VALUE'", text)


def failure_of(error: Exception) -> Failure | None:
    """Returns the failure for an error that is not a bug, or None for other errors."""
    from headrace.core.errors import OpError, SkippedExamples  # noqa: PLC0415 (loads NumPy)

    if isinstance(error, OpError):
        first, *_ = _as_command(error.message).splitlines() or [type(error).__name__]
        return Failure(" ".join([first, *getattr(error, "__notes__", ())]))
    if isinstance(error, SkippedExamples):
        return Failure(str(error))
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return Failure(f"{where}{error.strerror}")
    return None
