"""`tf.logging`: Python's logging, for this library and the programs that use it.

Source: `tf.logging` in TensorFlow 1.15.
"""

import logging
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from headrace.tf1.namespace import namespace

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

DEBUG: Final = logging.DEBUG
INFO: Final = logging.INFO
WARN: Final = logging.WARNING
ERROR: Final = logging.ERROR
FATAL: Final = logging.FATAL

_logger: Final = logging.getLogger("headrace")
_calls: Final[Counter[tuple[Any, ...]]] = Counter()

debug: Final = _logger.debug
info: Final = _logger.info
warning: Final = _logger.warning
error: Final = _logger.error
fatal: Final = _logger.critical
log: Final = _logger.log
vlog: Final = _logger.log


def warn(msg: str, *args: object, **kwargs: Any) -> None:
    """Logs a warning."""
    _logger.warning(msg, *args, stacklevel=2, **kwargs)


def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Logs if a condition is true."""
    if condition:
        _logger.log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs the first `n` calls from a line of code."""
    log_if(level, msg, _count() <= n, *args)


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs every `n`-th call from a line of code, beginning with the first."""
    log_if(level, msg, (_count() - 1) % n == 0, *args)


def _count() -> int:
    """Counts the calls from the line that called this function's caller."""
    frame = sys._getframe(2)
    line = (frame.f_code, frame.f_lineno)
    _calls[line] += 1
    return _calls[line]


def get_verbosity() -> int:
    """Returns the minimum level that is logged."""
    return _logger.getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Sets the minimum level that is logged.

    If the program has not set up Python's logging, messages are then written to standard error.

    Args:
        v: A level of this module, or its name.
    """
    _logger.setLevel(v)
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        _logger.addHandler(handler)


def flush() -> None:
    """Flushes the log handlers."""
    for handler in _logger.handlers:
        handler.flush()


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
