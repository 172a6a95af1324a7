"""A journal's files, and the description of its components.

The format is documented in `docs/reference/journal_files.md`.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from headrace.core.errors import DataLossError, FailedPreconditionError
from headrace.io import storage
from headrace.io.atomic_file import replacing
from headrace.pipeline.journals.locks import FileLock
from headrace.pipeline.values.types import ElementType, Json, Spec, Specs, type_name

__all__ = ["Description", "JournalDirectory", "directory_of"]

# The version of the format. Raise it if the files or their meaning change.
_VERSION: Final = 1
_DESCRIPTION: Final = re.compile(r"journal-([0-9a-f]{16})\.json")
_WRITER: Final = re.compile(r"writer-(\d{6,})\.lock")
_SEGMENT: Final = re.compile(r"writer-(\d{6,})-(\d{6,})\.rows")
_ORDER: Final = re.compile(r"order-(\d{6,})")
_WORDS: Final[dict[str, ElementType]] = {"bytes": bytes, "str": str, "Json": Json}


def directory_of(where: str, path: object) -> str:
    """Returns the absolute path of a journal's directory.

    Raises:
        TypeError: If the path is neither a string nor a `pathlib.Path`.
        ValueError: If it is a URL.
    """
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise TypeError(f"{where}: directory is {path!r}, expected a str or a pathlib.Path.")
    text = storage.local_path(os.fspath(path))
    if not text or storage.is_remote(text):
        raise ValueError(
            f"{where}: directory is {text!r}, expected a local directory, because journals need "
            "file locks."
        )
    return os.path.abspath(text)


@dataclass(frozen=True)
class Description:
    """The properties of all rows in a journal, fixed by the first append.

    Attributes:
        path: The file that stores the description.
        number: The journal's random number, as hexadecimal digits.
        specs: The components of a row. The sizes of axes are unknown.
    """

    path: str
    number: str
    specs: Specs


class JournalDirectory:
    """A journal's directory.

    Args:
        path: The directory. It may not exist yet.
    """

    def __init__(self, path: str) -> None:
        self.path: Final = path

    def segment(self, writer: int, number: int) -> str:
        """Returns a segment's path."""
        return os.path.join(self.path, f"writer-{writer:06d}-{number:06d}.rows")

    def writer_lock(self, writer: int) -> str:
        """Returns the path of the file that a writer locks while it is open."""
        return os.path.join(self.path, f"writer-{writer:06d}.lock")

    def order(self, number: int) -> str:
        """Returns the path of a file of the order of arrival."""
        return os.path.join(self.path, f"order-{number:06d}")

    @property
    def order_lock(self) -> str:
        """The path of the file that a reader locks to extend the order of arrival."""
        return os.path.join(self.path, "order.lock")

    def lock(self) -> FileLock:
        """Locks the journal for a short time, to add a writer or the description."""
        lock = FileLock.acquire(os.path.join(self.path, "journal.lock"), waits=True)
        assert lock is not None
        return lock

    def writers(self) -> list[int]:
        """Returns the numbers of all writers, in ascending order."""
        return sorted(int(match[1]) for match in self._matches(_WRITER))

    def segments(self) -> list[tuple[int, int]]:
        """Returns the writer and the number of each segment, in ascending order."""
        return sorted((int(match[1]), int(match[2])) for match in self._matches(_SEGMENT))

    def orders(self) -> list[int]:
        """Returns the numbers of the files that store the order of arrival, in ascending order."""
        return sorted(int(match[1]) for match in self._matches(_ORDER))

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return iter(())
        return (match for name in names if (match := pattern.fullmatch(name)))

    def description(self) -> Description | None:
        """Returns the journal's description, or None before the first append.

        Raises:
            DataLossError: If the file is damaged.
            FailedPreconditionError: If a newer version of this package wrote it.
        """
        for match in self._matches(_DESCRIPTION):
            path = os.path.join(self.path, match[0])
            with open(path, "rb") as file:
                return _read(path, match[1], file.read())
        return None

    def described(self, specs: Specs) -> Description:
        """Returns the journal's description, and writes it if there is none. Requires the lock."""
        description = self.description()
        if description is not None:
            return description
        number = secrets.token_hex(8)
        path = os.path.join(self.path, f"journal-{number}.json")
        content = {
            "format": "headrace journal",
            "version": _VERSION,
            "components": {
                name: [type_name(spec.dtype), len(spec.shape or ())] for name, spec in specs.items()
            },
        }
        with replacing(path) as file:
            file.write(json.dumps(content, indent=1).encode() + b"\n")
        return Description(path, number, specs)


def _read(path: str, number: str, data: bytes) -> Description:
    try:
        content = json.loads(data)
        version = content["version"]
        if version > _VERSION:
            raise FailedPreconditionError(
                None,
                None,
                f"{path}: the journal has version {version}, but this version of headrace reads "
                f"only journals up to version {_VERSION}. Update headrace.",
            )
        specs = {name: _spec(*words) for name, words in content["components"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataLossError(
            None, None, f"{path}: the description of the journal is damaged ({error!r})."
        ) from error
    return Description(path, number, specs)


def _spec(word: str, ndim: int) -> Spec:
    dtype: Any = _WORDS.get(word)
    if dtype is None:
        # bfloat16 is defined by another package.
        is_carried = word == "bfloat16"
        dtype = np.dtype(getattr(import_module("ml_dtypes"), word) if is_carried else word)
    return Spec(dtype, (None,) * ndim)
