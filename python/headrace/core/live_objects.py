"""A weak set of live objects."""

import threading
import weakref
from typing import Generic, TypeVar

__all__ = ["LiveObjects"]

_T = TypeVar("_T")


class LiveObjects(Generic[_T]):
    """A set of weak references to objects. Several threads may use it."""

    def __init__(self) -> None:
        # The lock is re-entrant, because a signal handler or the garbage collector may call this
        # class in the same thread.
        self._lock = threading.RLock()
        self._objects: weakref.WeakSet[_T] = weakref.WeakSet()

    def add(self, item: _T) -> None:
        """Adds an object."""
        with self._lock:
            self._objects.add(item)

    def all(self) -> list[_T]:
        """Returns the objects that are still alive, in no particular order."""
        with self._lock:
            return list(self._objects)
