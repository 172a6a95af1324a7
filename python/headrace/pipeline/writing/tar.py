"""Writes tar archives for the webdataset library, one sample per example."""

from __future__ import annotations

import io
import json
import posixpath
import tarfile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.writing.column import shortest
from headrace.pipeline.writing.shard import Shard, WholeFile
from headrace.pipeline.writing.values import Row, Values
from headrace.pipeline.writing.wording import UnwritableError, Wording

__all__ = ["TarShard", "check_extension", "is_array_file"]

_KEY: Final = "__key__"


class TarShard(Shard):
    """An archive whose members are named `KEY.COMPONENT`.

    A string is written unchanged, a number as text, and several values as JSON. A component named
    `npy` or `NAME.npy` is written in NumPy's format.
    """

    def __init__(
        self, path: str, compression: str | None, key: str | None, wording: Wording
    ) -> None:
        """Starts the archive; `key` is the component with keys, None for `__key__` or numbers."""
        self._key = key
        self._wording = wording
        self._last: str | None = None
        self._file = WholeFile(path, compression)
        self._tar = tarfile.TarFile(fileobj=self._file.stream, mode="w")

    def write(self, row: Row, number: int) -> int:
        """Appends a sample."""
        key = self._key_of(row, number)
        if key == self._last:
            raise UnwritableError(
                f"example {number} has the same key as the one before it, {key!r}, so the two "
                f"would become one sample. {self._wording.new_key}."
            )
        self._last = key
        size = 0
        for name, values in row.items():
            if name != (self._key or _KEY):
                data = _data(name, values, number, self._wording)
                size += len(data)
                check_extension(name, self._wording)
                member = tarfile.TarInfo(f"{key}.{name}")
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
            raise UnwritableError(
                f"example {number} has no key in {self._wording.component} '{self._key or _KEY}'."
            )
        item = values.items[0]
        key = item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
        parts = key.split("/")
        if not all(parts) or "." in posixpath.basename(key) or {".", ".."} & set(parts):
            raise UnwritableError(
                f"example {number} has the key {key!r}, but a key cannot contain dots, because it "
                f"ends at the first dot. {self._wording.other_key}"
            )
        return key


def check_extension(name: str, wording: Wording) -> None:
    """Raises UnwritableError if a name cannot be the extension of a member."""
    if not name or "/" in name or name != name.lower() or name.startswith("__"):
        raise UnwritableError(
            f"{wording.component} '{name}' cannot be used as a file extension, expected "
            f"lower-case letters without '/'. {wording.rename.format(name=name)}"
        )


def is_array_file(name: str) -> bool:
    """Returns whether a component is written as an array in NumPy's format."""
    return name.rpartition(".")[2] == "npy"


def _data(name: str, values: Values, number: int, wording: Wording) -> bytes:
    items: list[Any] = list(values.items)
    if len(items) == 1 and values.kind == "bytes":
        return bytes(items[0])
    if values.kind == "str" and values.shape == ():
        return bytes(items[0].encode())
    if is_array_file(name) and values.shape is not None:
        return _saved(np.array(items, values.kind).reshape(values.shape))
    try:
        if values.kind == "bytes":
            items = [item.decode() for item in items]
        elif values.kind in ("float", "float32"):
            items = shortest(items)
        is_list = len(items) != 1 or (values.shape is not None and values.shape != ())
        return json.dumps(items if is_list else items[0], ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise UnwritableError(
            f"example {number}: '{name}' is a list of bytes that are not valid UTF-8, which a tar "
            f"archive cannot store. {wording.dropped}"
        ) from error


def _saved(array: npt.NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
