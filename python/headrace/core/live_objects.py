"""Objects that somebody still holds, for those who want to know of all of them."""

import threading
import weakref
from typing import Generic, TypeVar

__all__ = ["Alive"]

_T = TypeVar("_T")


class Alive(Generic[_T]):
    """A set of objects that keeps none of them alive. May be used from many threads."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler, or the garbage collector, may ask in the same thread.
        self._lock = threading.RLock()
        self._objects: weakref.WeakSet[_T] = weakref.WeakSet()

    def add(self, item: _T) -> None:
        """Adds an object."""
        with self._lock:
            self._objects.add(item)

    def all(self) -> list[_T]:
        """Returns those that are still held, in no order."""
        with self._lock:
            return list(self._objects)
