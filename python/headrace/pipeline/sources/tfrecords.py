"""`tfrecords`: records of TFRecord files."""

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
    """Reads TFRecord files. Each example is `{"record": bytes}`.

    Every checksum is verified. If the records are serialized `tf.train.Example` messages, call
    `parse` next.

    Args:
        paths: A file, a directory, a pattern, or a list of these, as local paths or storage URLs.
            Patterns can contain `*`, `?`, `[…]`, `**` for directories, and braces such as `{a,b}`
            and `{000..010}`. If a path exists, it is never treated as a pattern. The files of a
            directory or pattern are sorted by name. Hidden files, index files and marker files such
            as `_SUCCESS` are skipped. HTTP URLs support only braces, because HTTP servers cannot
            list files. Missing files raise an error when the iteration starts.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4", or None for uncompressed files.
            "auto" detects the compression of each file from its first bytes. If a file consists of
            several members, streams or frames, all of them are read.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.

    Examples:
        >>> with hr.records.TFRecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> [example["record"] for example in hr.tfrecords("*.tfrecord")]
        [b'first', b'second']
    """
    return record_files(TfRecords, paths, compression)
