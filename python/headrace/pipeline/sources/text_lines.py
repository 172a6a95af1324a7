"""Lines of text files."""

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
    r"""Reads the lines of text files. An example is `{"text": bytes}`.

    Lines end with `\n` or `\r\n`, which are dropped; the last one need not have an end. A byte
    order mark of UTF-8 is dropped, too. A file that is not lines of text is an error: UTF-16, lines
    that end with `\r` alone, a Parquet file, an image, and the like.

    Args:
        paths: As for `tfrecords`.
        compression: As for `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.
    """
    return record_files(TextLines, paths, compression)
