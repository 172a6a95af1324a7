"""Parquet files."""

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
    """Reads Parquet files. An example has a component for each column.

    Numbers keep their types, strings are `str`, binary columns `bytes`, and lists ragged, up to
    three axes; lists of one length are arrays. Dates and timestamps are `datetime64`, those with a
    time zone in UTC; times of day and durations are `timedelta64`. Structs, maps, and lists of them
    are `Json`. Decimals need a type: `np.float64`, the nearest number, or `str`, the exact text.

    A null is None for `Json`. Elsewhere it is an error that names the file, the row and the column,
    unless there is a default or the column is `Nullable`. Checksums of pages are checked if the
    file has them.

    Directories named `year=2020`, as Hive writes them, are columns too if they are below the given
    path: int64 where all values are integers, else `str`; `__HIVE_DEFAULT_PARTITION__` is null. The
    path of a directory means the files of such directories within it, too.

    The footers of all files are read before the first batch. All threads read row groups, several
    at the same time.

    Args:
        paths: As for `tfrecords`. Only the wanted columns of remote files are requested.
        columns: The names of the wanted columns, or a dict of their types; only these are read.
            None for all of the first file. "meta.lang" is the field "lang" of the struct "meta", or
            a list of that field if "meta" is a list of structs. Types are those of `json_lines`;
            numbers and times are converted. A value that the type cannot represent is an error, but
            numbers with a fraction are rounded to the type of floats: 1700000001 for `float` is an
            error. Read it as `np.float64`.
        where: Conditions such as [("year", ">=", 2020)]: rows that meet all of them are read. The
            comparisons are ==, !=, <, <=, >, >=, "in" and "not in". Row groups whose statistics
            show that no row meets them are not read. A null meets no condition. Decimals are
            compared exactly, a float by its shortest text.
        defaults: The values for some of the columns where they are null, and where a file does not
            have them.
        dtypes: The types of some columns, such as {"price": str}; the others keep theirs.

    Raises:
        TypeError: If a path is invalid, a column is not a name, or a type cannot be a component's.
        ValueError: If there are no paths or no columns, or a default is not a value of its column.
    """
    chosen = as_table_columns("parquet", columns, defaults, where, dtypes)
    return Parquet(as_paths("parquet", paths), *chosen)
