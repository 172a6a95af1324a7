"""The entry point of the ``headrace`` command."""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Runs the command line.

    Until a command handles SIGINT, there are no files to clean up. Ctrl-C therefore ends the
    process immediately, without a traceback from an import.
    """
    signal.signal(signal.SIGINT, _leave_at_once)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # This escapes characters that the terminal cannot show.
            stream.reconfigure(errors="replace")
    # Imported only now, so that Ctrl-C already works. On a cold disk, imports take most of the
    # start-up time.
    from headrace.core.optional_dependencies import missing_cli  # noqa: PLC0415

    if missing := missing_cli():
        sys.exit(f"headrace: {missing}")
    from headrace.cli.commands import headrace  # noqa: PLC0415

    headrace(prog_name="headrace")


def _leave_at_once(number: int, _frame: FrameType | None) -> None:
    # The command may have left the cursor at the end of a progress bar.
    os.write(2, b"\nInterrupted.\n" if os.isatty(2) else b"Interrupted.\n")
    os._exit(128 + number)
