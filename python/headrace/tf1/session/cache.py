"""A cache of the entries that were used last. A hit costs no more than in a dict.

It has two generations. An entry that is used moves into the younger one. When that is full, it
becomes the older one, and the former older one is dropped. So the cache always holds at least the
`generation_size` entries that were used last, and at most twice as many.
"""

import threading
from typing import Generic, TypeVar

__all__ = ["RecentlyUsed"]

K = TypeVar("K")
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    """A cache. May be used from many threads.

    Args:
        generation_size: The smallest number of most recently used entries to keep.

    Attributes:
        young: The younger generation, for lookups so frequent that a method call matters. Read
            only, and look it up each time: it is replaced when it is full.
    """

    def __init__(self, generation_size: int) -> None:
        self._generation_size = generation_size
        self._lock = threading.Lock()
        # Written under the lock, read without it.
        self.young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Returns the value of a key, or None if it is not there."""
        value = self.young.get(key)
        if value is None and key in self._old:
            with self._lock:
                value = self._old.get(key)
                if value is not None:
                    self._put(key, value)
        return value

    def add(self, key: K, value: V) -> V:
        """Adds a value and returns it; if another thread has added one, returns that one."""
        with self._lock:
            value = self.young.get(key, value)
            self._put(key, value)
        return value

    def __len__(self) -> int:
        with self._lock:
            return len(self.young.keys() | self._old.keys())

    def _put(self, key: K, value: V) -> None:
        if len(self.young) >= self._generation_size and key not in self.young:
            self._old, self.young = self.young, {}
        self.young[key] = value
