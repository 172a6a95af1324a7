"""The request to ``headrace convert``: its arguments, checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.cli.content.kind import Kind

__all__ = ["FORMAT_OF_KIND", "Format", "Request"]


class Format:
    """The formats, by the words that `--from` and `--to` take."""

    TFRECORD: Final = "tfrecord"
    CSV: Final = "csv"
    JSON_LINES: Final = "json-lines"
    PARQUET: Final = "parquet"
    TAR: Final = "tar"
    IMAGE_FOLDER: Final = "image-folder"
    IMAGES: Final = "images"
    TEXT: Final = "text"


# The kinds of files that are sources, by their formats.
FORMAT_OF_KIND: Final = {
    Kind.TFRECORD: Format.TFRECORD,
    Kind.CSV: Format.CSV,
    Kind.JSON_LINES: Format.JSON_LINES,
    Kind.PARQUET: Format.PARQUET,
    Kind.TAR: Format.TAR,
    Kind.IMAGE: Format.IMAGES,
    Kind.TEXT: Format.TEXT,
}


@dataclass(frozen=True)
class Request:
    """A conversion that is wanted. A run that continues another one must have an equal request.

    Attributes:
        sources: Files, directories and patterns.
        output: The file, or the directory of an image folder.
        source_format: What the sources are; None to go by their content.
        to: The format of the output.
        compression: Of the output.
        shards: Into how many files it is divided.
        shard_bytes: How many bytes of examples a file gets.
        seed: Of the shuffle; None to keep the order.
        window: Of the shuffle; None to shuffle all examples.
        skip_errors: How many examples may be left out, or which share.
        header: Whether files of CSV begin with the names of the columns; None if nobody has said.
        columns: The types of some columns: (name, type).
        defaults: What stands for values that are missing: (name, value).
        select: The features that are wanted; all if empty.
        rename: The new and the old names of features.
        base64: The features that are bytes, written as base64.
        key: The feature with the key of a sample.
        image: The feature with the image.
        label: The feature with the class.
        name: The feature with the name of the file.
    """

    sources: tuple[str, ...]
    output: str
    source_format: str | None
    to: str
    compression: str | None
    shards: int | None
    shard_bytes: int | None
    seed: int | None
    window: int | None
    skip_errors: float | None
    header: bool | None
    columns: tuple[tuple[str, str], ...]
    defaults: tuple[tuple[str, str], ...]
    select: tuple[str, ...]
    rename: tuple[tuple[str, str], ...]
    base64: tuple[str, ...]
    key: str | None
    image: str | None
    label: str | None
    name: str | None

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data, such as JSON gives back."""
        return {
            key: [list(one) if isinstance(one, tuple) else one for one in value]
            if isinstance(value, tuple)
            else value
            for key, value in asdict(self).items()
        }
