"""`tf.app`: runs the `main` function of a program.

Source: `tf.app` in TensorFlow 1.15.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.tf1 import flags
from headrace.tf1.namespace import namespace

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Reads the flags, calls a program's main function and ends the process.

    Args:
        main: The function to call with the arguments that are not flags. Defaults to `main` in the
            started module.
        argv: The command line, starting with the program's name. Defaults to `sys.argv`.

    Raises:
        SystemExit: Always, unless `main` raises a different exception. The exit code is the result
            of `main`.
    """
    rest = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    function = sys.modules["__main__"].main if main is None else main
    sys.exit(function(rest))


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
