"""Stores components next to a disk cache, so a full cache needs no function calls to learn them.

The key is computed like the cache's, from the stages up to the function.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from headrace.core import engine
from headrace.pipeline.plan.cache_keys.keys import cache_key, with_companions
from headrace.pipeline.stages.cache import Cache
from headrace.pipeline.stages.stage import Stage
from headrace.pipeline.values.types import Json, Spec, Specs, type_name

__all__ = ["SpecFile"]

# Used in place of a cache's number. No cache has this number.
_NUMBER: Final = -1
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_STRINGS: Final = {"bytes": bytes, "str": str, "Json": Json}


class SpecFile:
    """The components after some stages, stored in a file in the cache's directory."""

    def __init__(
        self,
        chain: Sequence[Stage],
        contents: Iterable[tuple[str, str]],
        paths: Iterable[bytes],
        cache: Cache,
    ) -> None:
        """Determines the path of the file. The file may not exist.

        Args:
            chain: The stages.
            contents: The files that native functions depend on, with their digests.
            paths: The files of all sources.
            cache: The first disk cache after the stages.
        """
        assert cache.directory is not None
        key = cache_key(chain, contents, _NUMBER, cache.key)
        self._of = (cache.directory, cache.bytes, key, with_companions(paths), False)
        self._path = engine.DiskCache(*self._of).note_path()

    def read(self) -> Specs | None:
        """Returns the components if they were stored."""
        if self._path is None:
            return None
        try:
            with open(os.open(self._path, os.O_RDONLY | _NO_LINK), encoding="utf-8") as file:
                digest, _, text = file.read().partition("\n")
            return _decoded(text) if digest == _digest(text) else None
        except (OSError, ValueError, TypeError):
            # The components are learned again.
            return None

    def write(self, specs: Specs) -> None:
        """Stores the components, unless a file has changed in the meantime."""
        text = json.dumps([[name, _encoded(spec)] for name, spec in specs.items()])
        if self._path is None or self._path != engine.DiskCache(*self._of).note_path():
            return
        part = f"{self._path}.part{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        # If nothing can be written here, the cache itself reports it.
        with suppress(OSError):
            os.makedirs(os.path.dirname(part), exist_ok=True)
            with open(os.open(part, flags, 0o666), "w", encoding="utf-8") as file:
                file.write(f"{_digest(text)}\n{text}")
            os.replace(part, self._path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _encoded(spec: Spec) -> list[object]:
    return [type_name(spec.dtype), spec.shape, spec.is_ragged, spec.is_listed]


def _decoded(text: str) -> Specs:
    return {
        name: Spec(
            _STRINGS[kind] if kind in _STRINGS else np.dtype(kind),
            None if shape is None else tuple(shape),
            is_ragged,
            is_listed,
        )
        for name, (kind, shape, is_ragged, is_listed) in json.loads(text)
    }
