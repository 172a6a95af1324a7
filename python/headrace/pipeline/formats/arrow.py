"""Arrow IPC files and streams, also of Feather and of `datasets`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace.core import engine
from headrace.pipeline.describe.other_libraries import with_explained_calls
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.formats.conditions import Where
from headrace.pipeline.formats.table_files import (
    Columns,
    TableFiles,
    TableFormat,
    as_table_columns,
)
from headrace.pipeline.plan.paths import Paths, as_paths

__all__ = ["Arrow", "arrow"]

# What `Dataset.save_to_disk` of `datasets` writes beside the tables.
_BESIDE_DATA: Final = (b"dataset_info.json", b"state.json")


@dataclass(frozen=True)
class Arrow(TableFiles):
    """Rows of Arrow files."""

    format: ClassVar = TableFormat(
        "arrow",
        "record batch",
        engine.arrow_columns,
        engine.arrow_counts,
        engine.arrow_rows,
        lambda path: os.path.basename(path) in _BESIDE_DATA,
    )


@with_explained_calls
def arrow(
    paths: Paths,
    columns: Columns | None = None,
    where: Where | None = None,
    defaults: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
) -> Pipeline:
    """Reads Arrow IPC files and streams. An example has a component for each column.

    Feather files of version 2 are such files, and `datasets` keeps streams on disk: the path may be
    the directory that `Dataset.save_to_disk` has written. Buffers may be compressed with LZ4 or
    zstd. Types, nulls and directories are those of `parquet`.

    The places of all record batches are read before the first batch, from the footer of a file, and
    from message to message of a stream. All threads read record batches, several at the same
    time, each as a whole.

    Args:
        paths: As for `tfrecords`.
        columns: As for `parquet`.
        where: As for `parquet`, without statistics: all record batches are read.
        defaults: As for `parquet`.
        dtypes: As for `parquet`.

    Raises:
        TypeError: If a path is invalid, a column is not a name, or a type cannot be a component's.
        ValueError: If there are no paths or no columns, or a default is not a value of its column.
    """
    chosen = as_table_columns("arrow", columns, defaults, where, dtypes)
    return Pipeline((Arrow(as_paths("arrow", paths), *chosen),))
