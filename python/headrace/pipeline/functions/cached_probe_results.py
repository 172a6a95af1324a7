"""Results of Python functions for the examples that components were learned from.

The next iteration uses them, so that a function is called once for each of those examples.
"""

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import numpy as np

__all__ = ["CachedProbeResults", "Key", "copied", "digest_of", "key_of"]

# Results beyond this many bytes are dropped, and the function is called again.
_MOST_BYTES: Final = 64 << 20
# The approximate bytes of the place and the digest of an example.
_ENTRY_BYTES: Final = 256

# The key of an example, the same in all iterations.
Key = tuple[int, ...]


def key_of(row_id: Sequence[int], is_drawn: bool) -> Key:
    """Returns the key of an example.

    Args:
        row_id: Its epoch, record, file, and number within the record.
        is_drawn: Whether the function draws random numbers, so that its result depends on all of
            these.
    """
    # A part of a combination numbers its files otherwise than a pipeline alone.
    return tuple(row_id) if is_drawn else (row_id[1], row_id[3])


def copied(result: Any) -> Any:
    """Returns a copy, which the function or iterator cannot change when it makes the next one."""
    try:
        return deepcopy(result)
    except Exception:  # An object of the user's cannot be copied.
        return result


class CachedProbeResults:
    """The results of one function for some examples, each of which is used once.

    Attributes:
        of: The stage with the function.
        is_for_cache: Whether only iterations that keep the results in a cache may have them.
            Other iterations call the function again if it was called for `spec`, as it may have
            changed meanwhile.
    """

    def __init__(self, of: object) -> None:
        self.of: Final = of
        self.is_for_cache = False
        self._results: dict[Key, list[tuple[bytes, Any]]] = {}
        self._num_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        """Returns the results without the function, which another process has already."""
        return {**vars(self), "of": None}

    def __bool__(self) -> bool:
        return bool(self._results)

    def __contains__(self, key: Key) -> bool:
        return key in self._results

    def add(self, key: Key, digest: bytes | None, result: Any) -> None:
        """Adds a copy of a result, which later calls cannot change; does nothing if copying fails.

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
        except Exception:  # The user's object cannot be copied, so the function is called again.
            return
        self._results.setdefault(key, []).append((digest, copied))
        self._num_bytes += size

    def copy_of(self, key: Key, digest: bytes | None) -> tuple[Any] | None:
        """Returns a copy of the result for an example, which stays; None if there is none."""
        results = self._results.get(key, ())
        return next(((deepcopy(value),) for one, value in results if one == digest), None)

    def pop(self, key: Key, digest: bytes | None) -> tuple[Any] | None:
        """Returns the result for an example, and removes it; None if there is none."""
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
        """Returns all results for an iteration; the next one gets none of them.

        Args:
            is_cached: Whether the iteration keeps results in a cache.
        """
        taken = CachedProbeResults(self.of)
        if is_cached or not self.is_for_cache:
            taken._results, self._results, self._num_bytes = self._results, {}, 0
        return taken

    def forget(self, is_cached: bool) -> None:
        """Forgets results that a later iteration must not have; see `is_for_cache`."""
        self.is_for_cache |= is_cached
        if not self.is_for_cache:
            self._results, self._num_bytes = {}, 0


def digest_of(example: Mapping[str, Any]) -> bytes | None:
    """Returns a digest of an example's content; None if it cannot be pickled."""
    try:
        parts = [(name, _plain(value)) for name, value in example.items()]
        return hashlib.blake2b(pickle.dumps(parts), digest_size=16).digest()
    except Exception:  # An object of the user's cannot be pickled.
        return None


def _plain(value: Any) -> Any:
    if not isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value
    items = value.tolist() if value.dtype == object else value.tobytes()
    return value.dtype.str, value.shape, items


def _num_bytes(result: Any) -> int:
    """Returns the approximate size of a result, in bytes."""
    if isinstance(result, Mapping):
        return sum(map(_num_bytes, result.values()))
    if isinstance(result, (list, tuple)):
        return sum(map(_num_bytes, result))
    if isinstance(result, (bytes, str)):
        return len(result)
    return int(getattr(result, "nbytes", 64))
