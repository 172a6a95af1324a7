"""`arrow`: rows of Arrow IPC files and streams, including Feather files and saved `datasets`."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.core.repr_prefix import printable
from headrace.io import storage
from headrace.pipeline.paths.paths import Paths, as_paths
from headrace.pipeline.sources.conditions import Where
from headrace.pipeline.sources.table_files import (
    Columns,
    TableFiles,
    TableFormat,
    as_table_columns,
)

__all__ = ["Arrow", "arrow"]

# Files that `datasets` writes next to the tables of a directory: its description, and cached
# results of `map` and `filter`.
_BESIDE_TABLES: Final = re.compile(
    r"dataset_info\.json|state\.json|cache-[0-9a-f]{16}(_\d{5}_of_\d{5})?\.arrow"
)


def _tables(paths: Sequence[tuple[bytes, str]]) -> list[tuple[bytes, str]]:
    """Returns the files that are tables, with their paths relative to the user's argument.

    In a directory written by `Dataset.save_to_disk`, the tables are the files that `state.json`
    lists. In other directories, the additional files that `datasets` writes are skipped, unless
    they are named explicitly or there are no other files.

    Raises:
        InvalidArgumentError: If a directory contains a `DatasetDict`.
        NotFoundError: If a listed file does not exist.
    """
    split = {path: os.path.split(os.fsdecode(path)) for path, _ in paths}
    listed = {}
    for path, (directory, name) in split.items():
        if name == "dataset_dict.json" and (splits := _field(path, "splits")):
            raise InvalidArgumentError(
                None,
                None,
                f"arrow: {printable(directory)}: this directory is a DatasetDict with the splits "
                f"{', '.join(splits)}. Pass the directory of one split, such as "
                f"{os.path.join(directory, splits[0])!r}.",
            )
        if name == "state.json" and (files := _field(path, "_data_files")):
            listed[directory] = {file["filename"] for file in files}
    missing = {os.path.join(directory, name) for directory in listed for name in listed[directory]}
    missing -= {os.path.join(*names) for names in split.values()}
    if missing:
        raise NotFoundError(
            None,
            None,
            f"arrow: {printable(min(missing))}: this file is missing, but state.json lists it. "
            "Copy the directory again.",
        )

    def is_table(path: bytes, below: str) -> bool:
        directory, name = split[path]
        if directory in listed and below:
            return name in listed[directory]
        return not below or _BESIDE_TABLES.fullmatch(name) is None

    return [file for file in paths if is_table(*file)] or list(paths)


def _field(path: bytes, key: str) -> Any:
    """Returns a field of a JSON document, or None if it has no such field."""
    with storage.open_file(os.fsdecode(path)) as file:
        try:
            return json.load(file)[key]
        except (ValueError, LookupError, TypeError):
            return None


@dataclass(frozen=True)
class Arrow(TableFiles):
    """Rows of Arrow files."""

    format: ClassVar = TableFormat(
        "arrow",
        "record batch",
        engine.arrow_columns,
        engine.arrow_counts,
        engine.arrow_rows,
        _tables,
    )


def arrow(
    paths: Paths,
    columns: Columns | None = None,
    where: Where | None = None,
    defaults: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
) -> Arrow:
    """Reads Arrow IPC files and streams. Each example has one component per column.

    It also reads Feather version 2 files, and data sets saved by Hugging Face `datasets`. For
    these, pass the directory written by `Dataset.save_to_disk`, or the directory of one split
    written by `DatasetDict.save_to_disk`. Results of `map` and `filter` that `datasets` has cached
    in the directory are skipped. Buffers may be compressed with LZ4 or zstd. Types, nulls and
    directories work as in `parquet`.

    Before the first batch, the positions of all record batches are read. In a file they are in the
    footer, and in a stream they are found by going through the messages. Several threads then read
    record batches in parallel. A record batch is always read as a whole.

    Args:
        paths: The files to read; see `tfrecords`.
        columns: The columns to read; see `parquet`.
        where: Conditions on rows; see `parquet`. All record batches are read, because Arrow files
            have no statistics.
        defaults: Values to replace nulls; see `parquet`.
        dtypes: The types of some columns; see `parquet`.

    Raises:
        TypeError: If a path is invalid, a column is not a string, or components don't support a
            type.
        ValueError: If there are no paths or no columns, or a default does not fit its column.
    """
    chosen = as_table_columns("arrow", columns, defaults, where, dtypes)
    return Arrow(as_paths("arrow", paths), *chosen)
