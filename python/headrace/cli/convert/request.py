"""The validated arguments of ``headrace convert``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.cli.file_kinds import Kind
from headrace.core.repr_prefix import without_passwords

__all__ = ["FORMAT_OF_KIND", "Format", "Request"]


class Format:
    """The formats, named as in `--from` and `--to`."""

    TFRECORD: Final = "tfrecord"
    CSV: Final = "csv"
    JSON_LINES: Final = "json-lines"
    PARQUET: Final = "parquet"
    TAR: Final = "tar"
    IMAGE_FOLDER: Final = "image-folder"
    IMAGES: Final = "images"
    TEXT: Final = "text"


# The format for each kind of source file.
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
    """A requested conversion. A run can continue another one only if their requests are equal.

    Attributes:
        sources: Files, directories and patterns.
        output: The output file, or the directory of an image folder.
        source_format: The format of the sources. None to detect it from their content.
        to: The output format.
        compression: The compression of the output.
        shards: The number of output files.
        shard_bytes: The number of bytes of examples in an output file.
        seed: The seed of the shuffle. None to keep the order.
        window: The window of the shuffle. None to shuffle all examples.
        skip_errors: The number, or the share, of examples that may be skipped.
        header: Whether CSV files begin with the column names. None if the user gave no option.
        columns: The types of some columns, as (name, type).
        defaults: The defaults of some columns, as (name, value).
        select: The features to keep. Empty for all.
        rename: The new and the old names of features.
        base64: The bytes features that are written as base64.
        cast: The types to which some features are cast, as (name, type).
        key: The feature that contains the key of a sample.
        image: The feature that contains the image.
        label: The feature that contains the class.
        name: The feature that contains the file name.
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
    cast: tuple[tuple[str, str], ...]
    key: str | None
    image: str | None
    label: str | None
    name: str | None

    def as_json(self) -> dict[str, Any]:
        """Returns the request as JSON-compatible data, without the secrets in URLs."""
        plain = {
            key: [list(one) if isinstance(one, tuple) else one for one in value]
            if isinstance(value, tuple)
            else value
            for key, value in asdict(self).items()
        }
        return plain | {
            "sources": list(map(without_passwords, self.sources)),
            "output": without_passwords(self.output),
        }
