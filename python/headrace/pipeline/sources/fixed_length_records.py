"""`fixed_length_records`: records of one fixed length."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.core import engine
from headrace.io import storage
from headrace.pipeline.paths.paths import Paths, find_files
from headrace.pipeline.sources.record_files import RecordFiles, record_files
from headrace.pipeline.stages.arguments import checked_int

__all__ = ["FixedLengthRecords", "fixed_length_records"]


@dataclass(frozen=True)
class FixedLengthRecords(RecordFiles):
    """Records of one fixed length."""

    kind: ClassVar = "fixed_length_records"

    @property
    def may_have_index(self) -> bool:
        """False, because the positions of records can be computed from their length."""
        return False

    def counts(self) -> Sequence[int] | None:
        """Returns the number of records in each file, or None if a file may be compressed."""
        if self.compression not in (None, "auto"):
            return None
        header, record, footer = self.lengths
        paths = find_files(self.kind, self.paths)
        names = list(map(os.fsdecode, paths))
        if self.compression is not None and not all(map(_is_plain, paths, names)):
            return None
        return [max(size - header - footer, 0) // record for size in storage.sizes(names)]


def fixed_length_records(
    paths: Paths,
    record_bytes: int,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    compression: str | None = "auto",
) -> FixedLengthRecords:
    """Reads binary files of fixed-length records. Each example is `{"record": bytes}`.

    Args:
        paths: The files to read; see `tfrecords`.
        record_bytes: The length of a record in bytes, at least 1.
        header_bytes: The number of bytes to skip at the start of each file.
        footer_bytes: The number of bytes to skip at the end of each file.
        compression: The compression of the files; see `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, the compression is unknown, or a length is too small.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("data.bin").write_bytes(b"HEADaabbcc")
        >>> pipe = hr.fixed_length_records("data.bin", record_bytes=2, header_bytes=4)
        >>> [example["record"] for example in pipe]
        [b'aa', b'bb', b'cc']
    """
    for name, length, least in (
        ("record_bytes", record_bytes, 1),
        ("header_bytes", header_bytes, 0),
        ("footer_bytes", footer_bytes, 0),
    ):
        checked_int("fixed_length_records", name, length, least)
    lengths = (header_bytes, record_bytes, footer_bytes)
    return record_files(FixedLengthRecords, paths, compression, lengths)


def _is_plain(path: bytes, name: str) -> bool:
    """Returns whether a file is known to be uncompressed. Returns False for remote files."""
    if storage.is_remote(name):
        return False
    with engine.op_errors():
        return not engine.is_compressed(path, "auto")
