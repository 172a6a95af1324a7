"""Stacks of defaults, one a thread.

A new thread starts with empty stacks: it sees neither the default session nor the default graph of
the thread that started it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

__all__ = ["DefaultStack", "default_graphs", "default_session", "get_default_session"]

T = TypeVar("T")


class DefaultStack(threading.local, Generic[T]):
    """The objects that the current thread has made the default, innermost last.

    Args:
        is_nesting_enforced: Whether an object may only be taken off again when it is innermost.
    """

    def __init__(self, is_nesting_enforced: bool = True) -> None:
        self.entries: list[T] = []
        self.is_nesting_enforced = is_nesting_enforced

    def innermost(self) -> T | None:
        """Returns the default of this thread, or None."""
        return self.entries[-1] if self.entries else None

    def push(self, default: T) -> None:
        """Makes an object the default of this thread."""
        self.entries.append(default)

    def remove(self, default: T) -> None:
        """Takes off the last entry of an object.

        Raises:
            AssertionError: If nesting is enforced and the object was not innermost.
        """
        was_innermost = self.innermost() is default
        for index in reversed(range(len(self.entries))):
            if self.entries[index] is default:
                del self.entries[index]
                break
        if self.is_nesting_enforced and not was_innermost:
            raise AssertionError(f"Nesting violated for default stack of {type(default)} objects")

    @contextmanager
    def pushed(self, default: T) -> Iterator[T]:
        """Makes an object the default of this thread inside a `with` block."""
        self.push(default)
        try:
            yield default
        finally:
            self.remove(default)


# A graph is kept as Any here: this module is below the one that defines it.
default_graphs: DefaultStack[Any] = DefaultStack()
_default_sessions: DefaultStack[Any] = DefaultStack(is_nesting_enforced=False)


@contextmanager
def default_session(session: Any) -> Iterator[Any]:
    """Makes a session the default of this thread inside a `with` block; does not close it.

    Args:
        session: Anything with a `graph` and `run(fetches, feed_dict)`.

    Yields:
        The session.
    """
    with _default_sessions.pushed(session):
        yield session


def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None."""
    return _default_sessions.innermost()
