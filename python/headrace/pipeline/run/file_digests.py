"""Digests of a source's files, used by states to recognise the files."""

import os
from collections.abc import Sequence
from typing import Any, Final

from headrace.core.digests import sha256
from headrace.io.storage import all_statuses, sizes

__all__ = ["MOST_DIGESTS", "digests_of", "group_of", "version_of"]

# The maximum number of digests per source: one for each file, or for each group of neighbouring
# files.
MOST_DIGESTS: Final = 32
_DIGEST_BYTES: Final = 3


def digests_of(paths: Sequence[bytes]) -> list[Any]:
    """Returns the number of files, and digests of their names and sizes."""
    count = min(len(paths), MOST_DIGESTS)
    return [len(paths), [_digest(group_of(paths, number)) for number in range(count)]]


def version_of(files: Sequence[Sequence[bytes]]) -> str:
    """Returns a digest that changes if a file of the sources changes. It includes full paths."""
    digest = sha256()
    for paths in files:
        digest.update(b"%d;" % len(paths))
        for path, entry in zip(paths, all_statuses(map(os.fsdecode, paths)), strict=True):
            digest.update(b"%d:%b%d:%d;" % (len(path), path, entry.length, entry.modified_ns))
    return digest.hexdigest()


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
