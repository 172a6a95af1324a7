"""The checkpoint file: a header, the records of each resource, and an end marker."""

import json
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

from headrace.core import engine, errors
from headrace.io.atomic_file import AtomicFile
from headrace.io.records import tf_record_iterator

__all__ = ["CheckpointReader", "damaged", "write_checkpoint"]

# The version of the file format and of the engine's records. Increase it when either changes.
_VERSION: Final = 1
_FORMAT: Final = "headrace checkpoint"
_END: Final = b"end"


def write_checkpoint(
    file: AtomicFile, header: dict[str, Any], contents: Iterable[Iterable[bytes]]
) -> None:
    """Writes a checkpoint.

    Args:
        file: The file to write to.
        header: The entries of the first record, except the version.
        contents: The records of each resource. No record is empty.
    """
    text = json.dumps({"format": _FORMAT, "version": _VERSION, **header}, sort_keys=True)
    _write(file, text.encode())
    for records in contents:
        for record in records:
            _write(file, record)
        _write(file, b"")
    _write(file, _END)


def _write(file: AtomicFile, record: bytes) -> None:
    length = struct.pack("<Q", len(record))
    file.write(length + _checksum(length))
    file.write(record)
    file.write(_checksum(record))


def _checksum(data: bytes) -> bytes:
    """Returns the checksum of a TFRecord: a masked CRC-32C."""
    crc = engine.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


class CheckpointReader:
    """Reads a checkpoint from start to end.

    Args:
        path: The path of the file.

    Attributes:
        header: The entries of the first record, by key.

    Raises:
        DataLossError: If the file is damaged, or not a checkpoint.
        InvalidArgumentError: If the file was written by a newer version of headrace.
        NotFoundError: If the file does not exist.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._records = tf_record_iterator(path)
        self.header = _read_header(path, next(self._records, b""))

    def resource(self) -> Iterator[bytes]:
        """Yields the records of the next resource. The caller must consume all records."""
        for record in self._records:
            if not record:
                return
            yield record
        raise damaged(self._path)

    def end(self) -> None:
        """Raises DataLossError unless the file ends here."""
        if next(self._records, None) != _END or next(self._records, None) is not None:
            raise damaged(self._path)


def damaged(path: str) -> errors.DataLossError:
    """Returns the error to raise for a truncated or edited file."""
    text = "the checkpoint is damaged: it was truncated or edited. Restore another one."
    return errors.DataLossError(None, None, f"{path}: {text}")


def _read_header(path: str, record: bytes) -> dict[str, Any]:
    try:
        header = json.loads(record)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise errors.DataLossError(
            None,
            None,
            f"{path}: this is not the checkpoint of a session. Restore a checkpoint that "
            "headrace.tf1.checkpoint.save wrote.",
        )
    version = header.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{path}: the checkpoint has version {version}, but this headrace reads "
            f"checkpoints up to version {_VERSION}. Update headrace.",
        )
    if version != _VERSION:
        raise damaged(path)
    return header
