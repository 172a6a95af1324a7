"""Digests of a source's files, used by states to recognise the files."""

import os
from collections.abc import Sequence
from typing import Any, Final

from headrace.core.digests import sha256
from headrace.io.storage import sizes

__all__ = ["MOST_DIGESTS", "digests_of", "group_of"]

# The maximum number of digests per source: one for each file, or for each group of neighbouring
# files.
MOST_DIGESTS: Final = 32
_DIGEST_BYTES: Final = 3


def digests_of(paths: Sequence[bytes]) -> list[Any]:
    """Returns the number of files, and digests of their names and sizes."""
    count = min(len(paths), MOST_DIGESTS)
    return [len(paths), [_digest(group_of(paths, number)) for number in range(count)]]


def group_of(paths: Sequence[bytes], number: int) -> Sequence[bytes]:
    """Returns the neighbouring files that digest `number` covers."""
    count = min(len(paths), MOST_DIGESTS)
    return paths[number * len(paths) // count : (number + 1) * len(paths) // count]


def _digest(paths: Sequence[bytes]) -> str:
    digest = sha256()
    for path, size in zip(paths, sizes(map(os.fsdecode, paths)), strict=True):
        name = os.path.basename(path)
        digest.update(b"%d:%b%d;" % (len(name), name, size))
    return digest.digest()[:_DIGEST_BYTES].hex()
