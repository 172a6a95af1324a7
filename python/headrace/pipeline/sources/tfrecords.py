"""TFRecord files."""

from dataclasses import dataclass
from typing import ClassVar

from headrace.pipeline.paths.paths import Paths
from headrace.pipeline.sources.record_files import RecordFiles, record_files

__all__ = ["TfRecords", "tfrecords"]


@dataclass(frozen=True)
class TfRecords(RecordFiles):
    """Records of TFRecord files."""

    kind: ClassVar = "tfrecords"


def tfrecords(paths: Paths, compression: str | None = "auto") -> TfRecords:
    """Reads TFRecord files. An example is `{"record": bytes}`.

    Every checksum is checked.

    Args:
        paths: A path, a pattern, a directory or several of them; see `find_files`.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4", None for uncompressed files, or
            "auto" to recognise each file's compression by its first bytes. All members, streams and
            frames of a file are read.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.
    """
    return record_files(TfRecords, paths, compression)
