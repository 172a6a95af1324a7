"""Runs `headrace`, and sends itself a signal at a moment chosen by the first two arguments.

It is a separate program, because it kills itself: `killed_convert.py MOMENT NUMBER SIGNAL
arguments...` ends when MOMENT has occurred NUMBER times.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from headrace.cli.convert.folder import Folder
from headrace.cli.convert.run import _Output
from headrace.cli.main import main
from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.tfrecord import RecordShard

# As a shell starts programs: under `nohup` this signal would be ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

MOMENTS = {
    "example": (_Output, "write"),
    "publish": (RecordShard, "publish"),
    "journal": (Journal, "add"),
    "begin": (Journal, "begin"),
    "end": (Journal, "remove"),
    "folder": (Folder, "publish"),
}


def with_signal(function: Callable[..., Any], number: int, sent: int) -> Callable[..., Any]:
    calls = 0

    def counting(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), sent)
        return function(*arguments)

    return counting


def torn(journal: Journal, line: dict[str, Any]) -> None:
    """Writes half of a line, and ends."""
    journal._file.append(b'0123abcd {"path":"b-0000')
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    moment, number, sent = sys.argv[1], int(sys.argv[2]), signal.Signals[sys.argv[3]]
    sys.argv[1:4] = []
    if moment == "torn":
        Journal.add = torn
    else:
        owner, name = MOMENTS[moment]
        setattr(owner, name, with_signal(getattr(owner, name), number, sent))
    main()
