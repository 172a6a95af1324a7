"""Records where in the user's program an operation was created.

This happens for every new operation, so it must be cheap. Only the code object and a position in
that object are stored. The line is looked up on demand.
"""

import os
import sys
from traceback import FrameSummary
from types import CodeType
from typing import Final

__all__ = ["Origin", "describe_origin", "find_location", "find_origin", "is_own_file"]

_PACKAGE_PREFIX: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

Origin = tuple[CodeType, int]


def find_origin() -> Origin | None:
    """Returns the code and position of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE_PREFIX):
        outer = frame.f_back
        if outer is None:
            return None
        frame = outer
    return frame.f_code, frame.f_lasti


def describe_origin(origin: Origin | None) -> FrameSummary | None:
    """Looks up the file, line and function of an origin."""
    if origin is None:
        return None
    code, position = origin
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= position < end and number is not None:
            line = number
    return FrameSummary(code.co_filename, line, code.co_name, lookup_line=False)


def find_location() -> str:
    """Returns `file:line` of the innermost frame outside this package, or "" if there is none."""
    frame = describe_origin(find_origin())
    return "" if frame is None else f"{frame.filename}:{frame.lineno}"


def is_own_file(filename: str) -> bool:
    """Returns whether a source file belongs to this package."""
    return filename.startswith(_PACKAGE_PREFIX)
