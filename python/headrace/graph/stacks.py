"""Stacks of default objects, one per thread.

A new thread starts with empty stacks. It does not inherit the default session or default graph of
the thread that started it.
"""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

__all__ = [
    "DefaultStack",
    "SessionLike",
    "default_graphs",
    "default_session",
    "get_default_session",
]


class SessionLike(Protocol):
    """The part of a session that is needed to evaluate tensors and run operations."""

    @property
    def graph(self) -> object:
        """The graph that the session runs."""

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Computes the fetches."""


T = TypeVar("T")
S = TypeVar("S", bound=SessionLike)


class DefaultStack(threading.local, Generic[T]):
    """The current thread's default objects, innermost last."""

    def __init__(self) -> None:
        self.entries: list[T] = []

    def innermost(self) -> T | None:
        """Returns the innermost default of this thread, or None if there is none."""
        return self.entries[-1] if self.entries else None

    def push(self, default: T) -> None:
        """Makes an object the default of this thread."""
        self.entries.append(default)

    def remove(self, default: T, is_nesting_enforced: bool = True) -> None:
        """Removes the last occurrence of an object.

        Raises:
            AssertionError: If nesting is enforced and the object is not the innermost one.
        """
        was_innermost = self.innermost() is default
        for index in reversed(range(len(self.entries))):
            if self.entries[index] is default:
                del self.entries[index]
                break
        if is_nesting_enforced and not was_innermost:
            raise AssertionError(f"Nesting violated for default stack of {type(default)} objects")

    def pushed(self, default: T, is_nesting_enforced: bool = True) -> AbstractContextManager[T]:
        """Makes an object the default of this thread inside a `with` block."""
        return _PushedDefault(self, default, is_nesting_enforced)


class _PushedDefault(Generic[T]):
    """One `with` block. Not a generator: an unfinished one could be closed in another thread."""

    def __init__(self, stack: DefaultStack[T], default: T, is_nesting_enforced: bool) -> None:
        self._stack = stack
        self._default = default
        self._is_nesting_enforced = is_nesting_enforced

    def __enter__(self) -> T:
        self._stack.push(self._default)
        return self._default

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.remove(self._default, self._is_nesting_enforced)


# Graphs have type Any here, because a higher layer defines their class.
default_graphs: DefaultStack[Any] = DefaultStack()
_default_sessions: DefaultStack[Any] = DefaultStack()


def default_session(session: S, is_nesting_enforced: bool = True) -> AbstractContextManager[S]:
    """Makes a session this thread's default inside a `with` block. The session is not closed.

    Args:
        session: A session from headrace or any other object with `graph` and `run(fetches,
            feed_dict)`.
        is_nesting_enforced: Whether to raise an AssertionError when leaving the block if a session
            that was entered later is still the default.
    """
    return _default_sessions.pushed(session, is_nesting_enforced)


def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None if there is none.

    The session has the type that was passed to `default_session`, so the type is not known here.
    """
    return _default_sessions.innermost()
