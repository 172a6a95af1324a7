"""`parquet`: rows of Parquet files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths
from headrace.pipeline.sources.conditions import Where
from headrace.pipeline.sources.table_files import (
    Columns,
    TableFiles,
    TableFormat,
    as_table_columns,
)

__all__ = ["Parquet", "parquet"]


@dataclass(frozen=True)
class Parquet(TableFiles):
    """Rows of Parquet files."""

    format: ClassVar = TableFormat(
        "parquet", "row group", engine.parquet_columns, engine.parquet_counts, engine.parquet_rows
    )


def parquet(
    paths: Paths,
    columns: Columns | None = None,
    where: Where | None = None,
    defaults: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
) -> Parquet:
    """Reads Parquet files. Each example has one component per column.

    Numbers keep their types, strings become `str`, and binary columns become `bytes`. Lists of a
    fixed length become arrays, and other lists become ragged, with up to three axes. Dates and
    timestamps become `datetime64`, in UTC if they have a time zone. Times of day and durations
    become `timedelta64`. Structs, maps and lists of them become `Json`. For decimals, you must pass
    a type: `np.float64` for the nearest number, or `str` for the exact text.

    A null raises an error that names the file, row and column, unless the column has a default or
    is `Nullable`. For `Json`, null is read as None. Page checksums are verified if the file has
    them.

    Hive partitions are directories such as `year=2020`. They become columns if they are below the
    path that you pass. If all values are integers, the column is int64, and otherwise `str`.
    `__HIVE_DEFAULT_PARTITION__` is null. If you pass a directory, the files in its partitions are
    read too.

    Before the first batch, the footers of all files are read. Several threads then read row groups
    in parallel.

    Args:
        paths: The files to read; see `tfrecords`. For remote files, only the selected columns are
            downloaded.
        columns: A list of columns to read, or a dict of their types. None reads all columns of the
            first file. "meta.lang" is the field "lang" of the struct "meta". If "meta" is a list of
            structs, "meta.lang" is the list of that field's values. You can use the same types as
            in `json_lines`. Numbers and times are converted. A value that the type cannot represent
            raises an error. Fractions are rounded to the floating-point type, but whole numbers
            must be exact: 1700000001 raises an error for `float`, so use `np.float64`.
        where: Conditions such as [("year", ">=", 2020)]. Only rows that meet all of them are read.
            The comparisons are ==, !=, <, <=, >, >=, "in" and "not in". A row group is skipped if
            its statistics show that no row can match. A null meets no condition. Decimals are
            compared exactly, and a float counts as its shortest decimal form.
        defaults: Values to use for nulls and for columns that a file doesn't have, by column.
        dtypes: The types of some columns, such as {"price": str}. The others keep their types.

    Raises:
        TypeError: If a path is invalid, a column is not a string, or components don't support a
            type.
        ValueError: If there are no paths or no columns, or a default does not fit its column.

    Examples:
        >>> paths = hr.arrays({"year": [2019, 2020, 2021], "x": [1, 2, 3]}).write("data.parquet")
        >>> pipe = hr.parquet(paths, columns=["x"], where=[("year", ">=", 2020)])
        >>> next(iter(pipe.batch(3)))
        {'x': array([2, 3])}
    """
    chosen = as_table_columns("parquet", columns, defaults, where, dtypes)
    return Parquet(as_paths("parquet", paths), *chosen)
