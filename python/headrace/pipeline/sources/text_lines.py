"""`text_lines`: lines of text files."""

from dataclasses import dataclass
from typing import ClassVar

from headrace.pipeline.paths.paths import Paths
from headrace.pipeline.sources.record_files import RecordFiles, record_files
from headrace.pipeline.values.types import Spec

__all__ = ["TextLines", "text_lines"]


@dataclass(frozen=True)
class TextLines(RecordFiles):
    """Lines of text files."""

    kind: ClassVar = "text_lines"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"text": Spec(bytes, ())}


def text_lines(paths: Paths, compression: str | None = "auto") -> TextLines:
    r"""Reads the lines of text files. Each example is `{"text": bytes}`.

    The line ending (`\n` or `\r\n`) is removed. The last line doesn't need one. A UTF-8 byte order
    mark is removed. A file that does not consist of text lines raises an error, for example UTF-16
    text, lines that end in `\r` alone, a Parquet file or an image.

    Args:
        paths: The files to read; see `tfrecords`.
        compression: The compression of the files; see `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("poem.txt").write_text("to be\nor not to be\n")
        >>> [example["text"] for example in hr.text_lines("poem.txt")]
        [b'to be', b'or not to be']
    """
    return record_files(TextLines, paths, compression)
