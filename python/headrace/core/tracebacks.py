"""Short tracebacks: errors in users' functions are shown without the package's own frames."""

import functools
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from headrace.core.errors import OpError

__all__ = ["hide_own_frames", "with_short_tracebacks"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_short_tracebacks(function: _Function) -> _Function:
    """Wraps a function so that tracebacks of its errors hide the package's frames."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise

    return call  # type: ignore[return-value]


def hide_own_frames(error: BaseException, *, is_of_function: bool = False) -> None:
    """Removes the package's frames from the traceback of the error being handled.

    The frames of the user's function are kept. If there are none, the frame that raised the error
    is kept: the error is in the data, or comes from a worker process. Errors that are neither keep
    all frames, because they may be bugs in the package. Call this where the error leaves the
    package, before `raise`.

    Args:
        error: The error. An error in a user's function has a note about its example.
        is_of_function: Whether a user's function raised it if it has frames outside the package,
            even without a note.
    """
    # Attributes of a user's class may raise exceptions, so they are not read or set through the
    # class.
    frames = list(_frames(BaseException.__getattribute__(error, "__traceback__")))
    kept = [frame for frame in frames if not _is_own(frame)]
    has_notes = BaseException.__getattribute__(error, "__dict__").get("__notes__")
    is_known = has_notes or issubclass(type(error), OpError) or (is_of_function and kept)
    if not frames or not is_known:
        return
    kept = kept or frames[-1:]
    for frame, following in zip(kept, [*kept[1:], None], strict=True):
        frame.tb_next = following
    BaseException.with_traceback(error, kept[0])


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_own(frame: TracebackType) -> bool:
    name = frame.tb_frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith("headrace.")
