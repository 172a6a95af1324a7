"""An iteration's limits, from its options or the defaults."""

from collections.abc import Mapping
from typing import Any, Final

from headrace.core.allocation_guard import available_bytes

__all__ = ["cache_of", "memory_bytes_of"]

_LEAST_MEMORY_BYTES: Final = 64 << 20
# The default of `cache_bytes` if `cache_directory` is set.
_CACHE_BYTES: Final = 16 << 30


def cache_of(options: Mapping[str, Any]) -> tuple[str, int] | None:
    """Returns the cache directory for remote files and its size limit, or None without a cache."""
    directory = options.get("cache_directory")
    return None if directory is None else (directory, options.get("cache_bytes") or _CACHE_BYTES)


def memory_bytes_of(options: Mapping[str, Any]) -> int:
    """Returns the memory limit in bytes; see `Pipeline.options`."""
    chosen: int | None = options.get("memory_bytes")
    return chosen or max(available_bytes() // 4, _LEAST_MEMORY_BYTES)
