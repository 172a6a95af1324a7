"""Tar archives as the library webdataset reads them: a sample for each example."""

from __future__ import annotations

import io
import json
import posixpath
import tarfile
from typing import Any, Final

from headrace.cli.convert.request import Request
from headrace.cli.convert.rows import Row
from headrace.cli.convert.shards.column import shortest
from headrace.cli.convert.shards.file import WholeFile
from headrace.cli.convert.shards.shard import Shard
from headrace.cli.examples.values import Values
from headrace.cli.failures import Failure

__all__ = ["TarShard"]

_KEY: Final = "__key__"


class TarShard(Shard):
    """An archive, whose members are named `KEY.FEATURE`.

    A string is written unchanged, a number as text, several values as JSON.
    """

    def __init__(self, path: str, compression: str | None, request: Request) -> None:
        self._key = request.key
        self._last: str | None = None
        self._file = WholeFile(path, compression)
        self._tar = tarfile.TarFile(fileobj=self._file.stream, mode="w")

    def write(self, row: Row, number: int) -> int:
        """Appends a sample."""
        key = self._key_of(row, number)
        if key == self._last:
            raise Failure(
                f"example {number} has the key {key!r}, as the one before it, so they would be one "
                "sample. Give --key, or leave the feature out with --select."
            )
        self._last = key
        size = 0
        for name, values in row.items():
            if name != (self._key or _KEY):
                data = _data(name, values, number)
                size += len(data)
                member = tarfile.TarInfo(f"{key}.{_extension(name)}")
                member.size, member.mode = len(data), 0o644
                self._tar.addfile(member, io.BytesIO(data))
        return size

    def publish(self) -> None:
        """Completes the file."""
        self._tar.close()
        self._file.publish()

    def discard(self) -> None:
        """Removes the file."""
        self._file.discard()

    def _key_of(self, row: Row, number: int) -> str:
        values = row.get(self._key or _KEY)
        if values is None and self._key is None:
            return f"{number:09d}"
        if values is None or len(values.items) != 1:
            raise Failure(f"example {number} has no feature '{self._key or _KEY}' with a key.")
        item = values.items[0]
        key = item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
        parts = key.split("/")
        if not all(parts) or "." in posixpath.basename(key) or {".", ".."} & set(parts):
            raise Failure(
                f"example {number} has the key {key!r}, expected a name without points, which end "
                "it. Give another --key, or rename the feature with --rename."
            )
        return key


def _extension(name: str) -> str:
    if not name or "/" in name or name != name.lower() or name.startswith("__"):
        raise Failure(
            f"feature '{name}' cannot be an extension, expected small letters without '/'. Rename "
            f"it: --rename '{name}=jpg'"
        )
    return name


def _data(name: str, values: Values, number: int) -> bytes:
    items: list[Any] = list(values.items)
    if len(items) == 1 and values.kind == "bytes":
        return bytes(items[0])
    try:
        if values.kind == "bytes":
            items = [item.decode() for item in items]
        elif values.kind == "float":
            items = shortest(items)
        return json.dumps(items[0] if len(items) == 1 else items, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise Failure(
            f"example {number}: '{name}' has several strings that are no text, which no member of "
            "an archive holds. Leave it out with --select."
        ) from error
