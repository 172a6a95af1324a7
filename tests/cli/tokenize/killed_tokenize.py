"""Runs `headrace`, and sends itself a signal at a moment chosen by the first three arguments.

It is a separate program, because it kills itself: `killed_tokenize.py MOMENT NUMBER SIGNAL
arguments...` ends when MOMENT has occurred NUMBER times.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from headrace.cli.main import main
from headrace.cli.tokenize import run
from headrace.io.atomic_file import AtomicFile

# As a shell starts programs: under `nohup` this signal would be ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

MOMENTS = {
    "tokens": (run._Writer, "bytes_of"),
    "index": (run._Writer, "index"),
    "publish": (AtomicFile, "publish"),
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


if __name__ == "__main__":
    moment, number, sent = sys.argv[1], int(sys.argv[2]), signal.Signals[sys.argv[3]]
    sys.argv[1:4] = []
    owner, name = MOMENTS[moment]
    setattr(owner, name, with_signal(getattr(owner, name), number, sent))
    main()
