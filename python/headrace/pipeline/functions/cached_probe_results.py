"""Caches a function's results for the examples used to learn components.

The next iteration reuses them, so the function is called only once for each of these examples.
"""

import pickle
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import numpy as np

from headrace.core.digests import blake2b

__all__ = ["CachedProbeResults", "Key", "copied", "digest_of", "key_of"]

# If the results exceed this size, they are dropped and the function is called again.
_MOST_BYTES: Final = 64 << 20
# The approximate size of an entry's position and digest.
_ENTRY_BYTES: Final = 256

# Identifies an example across iterations.
Key = tuple[int, ...]


def key_of(row_id: Sequence[int], is_drawn: bool) -> Key:
    """Returns the key of an example.

    Args:
        row_id: The example's epoch, record, file, and number within the record.
        is_drawn: Whether the function draws random numbers. Its result then depends on the whole
            row ID.
    """
    # A combined pipeline numbers its files differently from a single one.
    return tuple(row_id) if is_drawn else (row_id[1], row_id[3])


def copied(result: Any) -> Any:
    """Returns a copy that the function or iterator cannot change later."""
    try:
        return deepcopy(result)
    except Exception:  # Some users' objects cannot be copied.
        return result


class CachedProbeResults:
    """The results of one function for several examples. Each result is used once.

    Attributes:
        of: The stage that owns the function.
        is_for_cache: Whether only iterations that cache the results may use them. If the function
            was called for `spec`, other iterations call it again, because it may have changed in
            the meantime.
    """

    def __init__(self, of: object) -> None:
        self.of: Final = of
        self.is_for_cache = False
        self._results: dict[Key, list[tuple[bytes, Any]]] = {}
        self._num_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        """Omits the function, because the other process already has it."""
        return {**vars(self), "of": None}

    def __bool__(self) -> bool:
        return bool(self._results)

    def __contains__(self, key: Key) -> bool:
        return key in self._results

    def add(self, key: Key, digest: bytes | None, result: Any) -> None:
        """Adds a copy of a result that later calls cannot change. Does nothing if copying fails.

        Args:
            key: The key of the example.
            digest: The digest of the example before the call.
            result: The function's result.
        """
        size = _ENTRY_BYTES + _num_bytes(result)
        if digest is None or self._num_bytes + size > _MOST_BYTES:
            return
        try:
            copied = deepcopy(result)
        except Exception:  # Some users' objects cannot be copied, so the function is called again.
            return
        self._results.setdefault(key, []).append((digest, copied))
        self._num_bytes += size

    def copy_of(self, key: Key, digest: bytes | None) -> tuple[Any] | None:
        """Returns a copy of an example's result, without removing it, or None if there is none."""
        results = self._results.get(key, ())
        return next(((deepcopy(value),) for one, value in results if one == digest), None)

    def pop(self, key: Key, digest: bytes | None) -> tuple[Any] | None:
        """Removes and returns an example's result, or returns None if there is none."""
        results = self._results.get(key, [])
        for number, (one, value) in enumerate(results):
            if one == digest:
                del results[number]
                if not results:
                    self._results.pop(key, None)
                return (value,)
        return None

    def all_results(self) -> list[Any]:
        """Returns all results."""
        return [all_results for results in self._results.values() for _, all_results in results]

    def take(self, is_cached: bool) -> "CachedProbeResults":
        """Removes and returns all results, for an iteration.

        Args:
            is_cached: Whether the iteration caches the results.
        """
        taken = CachedProbeResults(self.of)
        if is_cached or not self.is_for_cache:
            taken._results, self._results, self._num_bytes = self._results, {}, 0
        return taken

    def forget(self, is_cached: bool) -> None:
        """Discards results that later iterations must not reuse; see `is_for_cache`."""
        self.is_for_cache |= is_cached
        if not self.is_for_cache:
            self._results, self._num_bytes = {}, 0


def digest_of(example: Mapping[str, Any]) -> bytes | None:
    """Returns a digest of an example's contents, or None if it cannot be pickled."""
    try:
        parts = [(name, _plain(value)) for name, value in example.items()]
        return blake2b(pickle.dumps(parts), digest_size=16).digest()
    except Exception:  # Some users' objects cannot be pickled.
        return None


def _plain(value: Any) -> Any:
    if not isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value
    items = value.tolist() if value.dtype == object else value.tobytes()
    return value.dtype.str, value.shape, items


def _num_bytes(result: Any) -> int:
    """Returns the approximate size of a result in bytes."""
    if isinstance(result, Mapping):
        return sum(map(_num_bytes, result.values()))
    if isinstance(result, (list, tuple)):
        return sum(map(_num_bytes, result))
    if isinstance(result, (bytes, str)):
        return len(result)
    return int(getattr(result, "nbytes", 64))
