"""Where in the user's program an operation was made.

Taken each time an operation is created, so it must cost little: only the code object and the
position in it are kept, and the line is looked up when somebody asks.
"""

import os
import sys
from traceback import FrameSummary
from types import CodeType
from typing import Final

__all__ = ["Origin", "find_origin"]

_PACKAGE_PREFIX: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

Origin = tuple[CodeType, int]


def find_origin() -> Origin | None:
    """Returns the innermost frame outside this package: its code and the position in it."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE_PREFIX):
        outer = frame.f_back
        if outer is None:
            return None
        frame = outer
    return frame.f_code, frame.f_lasti


def describe_origin(origin: Origin | None) -> FrameSummary | None:
    """Looks up file, line and function of an origin."""
    if origin is None:
        return None
    code, position = origin
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= position < end and number is not None:
            line = number
    return FrameSummary(code.co_filename, line, code.co_name, lookup_line=False)
