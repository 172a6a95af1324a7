"""Python functions with a state, such as a count of their calls.

The state belongs to a position in an iteration, not to the object. Every iteration starts with the
state that the function had when the first iteration started. Iterations that run at the same time
take turns.
"""

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final

__all__ = ["initial", "keeps_state", "kept", "restore", "unchanged", "using"]


def keeps_state(function: object) -> bool:
    """Returns whether a function or an iterator has the methods `state` and `restore`."""
    return _method(function, "state") is not None and _method(function, "restore") is not None


def kept(function: object) -> str | None:
    """Returns a function's state as JSON text, or None if it has no state."""
    return json.dumps(function.state()) if keeps_state(function) else None  # type: ignore[attr-defined]


def initial(function: object) -> str | None:
    """Returns a function's state at the first call of `initial`, or None if it has no state."""
    return _facts_of(function).initial if keeps_state(function) else None


def restore(function: object, state: str | None) -> None:
    """Restores a function's state, unless the function already has it.

    Raises:
        TypeError: If the saved function had a state, but this function has none.
    """
    if state is None:
        return
    if not keeps_state(function):
        raise TypeError(
            "resume: the state includes the state of a function, but this function has no "
            "methods state() and restore(state). Resume with the same function."
        )
    if kept(function) != state:
        function.restore(json.loads(state))  # type: ignore[attr-defined]


@contextmanager
def using(function: object) -> Iterator[None]:
    """Locks a function with a state, so that no other iteration calls it."""
    if not keeps_state(function):
        yield
        return
    with _facts_of(function).lock:
        yield


class _Unchanged:
    def __init__(self, function: object) -> None:
        self._function = function
        self._before: str | None = None

    def __enter__(self) -> None:
        self._before = kept(self._function)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # An error in the body takes precedence.
        with nullcontext() if error is None else suppress(Exception):
            restore(self._function, self._before)


def unchanged(function: object) -> AbstractContextManager[None]:
    """Restores a function's state after the body. The body may call the function."""
    return _Unchanged(function)


class _FunctionFacts:
    """A function's lock and first state.

    Attributes:
        initial: Its first state.
        lock: Held by the iteration that is calling the function.
        function: Returns the function.
    """

    def __init__(self, function: object) -> None:
        self.initial: Final = kept(function)
        self.lock = threading.Lock()
        self.function = _reference(function)


_all: Final[dict[int, _FunctionFacts]] = {}
_lock = threading.Lock()


def _facts_of(function: object) -> _FunctionFacts:
    with _lock:
        facts = _all.get(id(function))
        if facts is None or facts.function() is not function:
            facts = _all[id(function)] = _FunctionFacts(function)
        return facts


def _reference(function: object) -> Callable[[], object]:
    number = id(function)
    try:
        return weakref.ref(function, lambda _: _all.pop(number, None))
    except TypeError:
        # The function cannot be referenced weakly, so it is kept alive.
        return lambda: function


def _renew_locks() -> None:
    """Creates new locks in a child process, where the threads holding the old locks don't exist."""
    global _lock  # noqa: PLW0603 (a lock that another thread held cannot be released)
    _lock = threading.Lock()
    for facts in _all.values():
        facts.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _method(function: object, name: str) -> Callable[..., Any] | None:
    method = getattr(function, name, None)
    return method if callable(method) else None
