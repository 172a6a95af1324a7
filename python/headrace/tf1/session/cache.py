"""A cache of recently used entries. A hit is as cheap as a dict lookup.

The cache has two generations. Using an entry moves it to the younger generation. Once the younger
generation is full, it replaces the older generation, whose entries are dropped. The cache therefore
always holds at least the `generation_size` most recently used entries, and at most twice as many.
"""

import threading
from typing import Generic, TypeVar

__all__ = ["RecentlyUsed"]

K = TypeVar("K")
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    """A cache that is safe to use from many threads at once.

    Args:
        generation_size: The minimum number of most recently used entries to keep.

    Attributes:
        young: The younger generation, for lookups so frequent that a method call would matter. It
            is read-only for callers. Don't keep a reference, because the generation is replaced
            when it is full.
    """

    def __init__(self, generation_size: int) -> None:
        self._generation_size = generation_size
        self._lock = threading.Lock()
        # This is written under the lock and read without it.
        self.young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Returns the value of a key, or None if the key does not exist."""
        value = self.young.get(key)
        if value is None and key in self._old:
            with self._lock:
                value = self._old.get(key)
                if value is not None:
                    self._put(key, value)
        return value

    def add(self, key: K, value: V) -> V:
        """Adds a value and returns it, or the value that another thread has already added."""
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
