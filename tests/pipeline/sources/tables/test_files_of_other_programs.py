"""Tables written by Spark, DuckDB, polars and fastparquet; pyarrow is the oracle.

The scripts that wrote them are in the same directory.
"""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pipeline.sources.tables.written_tables import MISSING, plain

import headrace as hr
from headrace.core import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FILES = Path(__file__).parent.parent / "files" / "tables"
# Tables that pyarrow reads.
READ = [
    "spark/int96",
    "spark/far",
    "spark/micros",
    "spark/v2",
    "spark/lz4",
    "spark/zstd",
    "spark/variant",
    "spark/two_level.parquet",
    "duckdb/types.parquet",
    "duckdb/zstd.parquet",
    "duckdb/lz4_raw.parquet",
    "duckdb/uncompressed.parquet",
    "polars/all.parquet",
    "polars/all.arrow",
    "polars/all.arrows",
    "pandas/int96.parquet",
    "pandas/folder",
]
# Columns that are rejected, with the words of the error.
REFUSED = {
    (
        "spark/variant",
        "v",
    ): "which contains binary, and JSON cannot represent that. Omit the column, or read",
    ("duckdb/types.parquet", "date_array"): "is out of the range of times",
    ("duckdb/types.parquet", "timestamp_array"): "is out of the range of times",
    ("duckdb/types.parquet", "timestamptz_array"): "is out of the range of times",
    (
        "duckdb/types.parquet",
        "interval",
    ): "expected a supported type. Omit the column: list only the others",
}


def read(name: str, columns: Any = None) -> hr.Pipeline:
    source = hr.arrow if ".arrow" in name else hr.parquet
    return source(FILES / name, columns)


def tables(name: str) -> list[Any]:
    """The tables of the files, with the columns that pyarrow reads."""
    path = FILES / name
    if path.suffix == ".arrow":
        return [pa.ipc.open_file(path).read_all()]
    if path.suffix == ".arrows":
        return [pa.ipc.open_stream(path).read_all()]
    return [_parquet(file) for file in (sorted(path.glob("part*")) if path.is_dir() else [path])]


def _parquet(path: Path) -> Any:
    results = {}
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    for name in file.schema_arrow.names:
        try:
            results[name] = file.read(columns=[name])[name]
        except pa.ArrowInvalid:  # Null lists of a fixed length, as written by DuckDB.
            assert name.startswith(("fixed_", "struct_of_fixed_"))
    return pa.table(results)


def values(column: Any) -> list[Any]:
    """Returns the values that pyarrow reads.

    Times are numbers, because Python supports few years.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.to_pylist()
    if pa.types.is_list(kind) and pa.types.is_temporal(kind.value_type):
        return column.cast(pa.list_(_number_of(kind.value_type))).to_pylist()
    if pa.types.is_temporal(kind):
        return column.cast(_number_of(kind)).to_pylist()
    stored = [getattr(chunk, "storage", chunk) for chunk in column.chunks]
    return [plain(value, chunk.type) for chunk in stored for value in chunk.to_pylist()]


def _number_of(kind: Any) -> Any:
    return pa.int32() if kind in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()


def word(name: str, column: str, kind: Any, actual: list[Any]) -> Any:
    """The type as which a column is read: as inferred, with nulls."""
    if pa.types.is_decimal(kind):
        return hr.Nullable(str)
    if pa.types.is_null(kind):
        return hr.Json
    spec = read(name, [column]).spec[column]
    if spec.dtype is hr.Json or any(map(has_gap, actual)):
        return hr.Json
    if spec.is_ragged:
        return hr.Nullable(hr.Ragged(spec.dtype, ndim=len(spec.shape)))
    return hr.Nullable(hr.Feature(spec.dtype, spec.shape) if spec.shape else spec.dtype)


def has_gap(value: Any) -> bool:
    """True if there is a null within a list."""
    return isinstance(value, list) and any(one is MISSING or has_gap(one) for one in value)


def same(got: Any, kind: Any) -> Any:
    """A value of a pipeline in the form of `values`."""
    value = np.asarray(got) if isinstance(got, (np.ndarray, np.generic)) else got
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        return value.astype(np.int64).tolist()
    return plain(got, getattr(kind, "storage_type", kind))


def is_same(one: Any, other: Any) -> bool:
    """Returns whether values are equal. NaN equals NaN here."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)


@pytest.mark.parametrize("name", READ)
def test_each_column_matches_pyarrow_or_is_rejected(name):
    parts = tables(name)
    expected = {
        column: [value for part in parts for value in values(part[column])]
        for column in parts[0].column_names
        if (name, column) not in REFUSED
    }
    kinds = {column: parts[0].schema.field(column).type for column in expected}
    types = {column: word(name, column, kinds[column], expected[column]) for column in expected}
    rows = list(read(name, types))
    for column, actual in expected.items():
        assert len(rows) == len(actual) > 0
        for row, value in zip(rows, actual, strict=True):
            is_there = row.get(f"{column}_mask", row[column] is not None)
            got = same(row[column], kinds[column]) if is_there else None
            assert is_same(got, value), column
    for column in (column for table, column in REFUSED if table == name):
        text = f"the column '{column}' .*{re.escape(REFUSED[name, column])}"
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(read(name, {column: hr.Json} if column.endswith("_array") else [column]))


def test_legacy_spark_lists_equal_current_ones():
    # pyarrow does not open this file.
    types = {
        "number": int,
        "some": hr.Nullable(int),
        "d": hr.Nullable(float),
        "price": str,
        "sum": np.float64,
        "wide": hr.Nullable(str),
        "list": hr.Json,
        "meta": hr.Json,
    }
    others = ["small", "short", "flag", "text", "other", "raw", "day", "local", "words", "lists"]
    others += ["messages", "map", "deep"]
    spec = read("spark/micros", others).spec
    for name, one in spec.items():
        types[name] = hr.Ragged(one.dtype, ndim=len(one.shape)) if one.is_ragged else one.dtype
    assert [repr(row) for row in read("spark/legacy", types)] == [
        repr(row) for row in read("spark/micros", types)
    ]
    assert list(read("spark/legacy", ["lists"]))[1]["lists"][1].tolist() == [0.5, 1.0]


def test_fixed_length_lists_by_duckdb_can_be_null():
    names = ["fixed_int_array", "fixed_varchar_array", "list_of_fixed_int_array"]
    rows = list(read("duckdb/types.parquet", dict.fromkeys(names, hr.Json)))
    assert [row["fixed_int_array"] for row in rows] == [[None, 2, 3], [4, 5, 6], None]
    assert [row["fixed_varchar_array"] for row in rows] == [["a", None, "c"], ["d", "e", "f"], None]
    assert rows[2]["list_of_fixed_int_array"] is None


@pytest.mark.parametrize("name", ["polars/wide.parquet", "polars/wide.arrow"])
def test_error_for_128_bit_integers_names_the_column(name):
    with pytest.raises(errors.InvalidArgumentError, match="the column 'big' has 128-bit integers"):
        list(read(name, ["number"]))


@pytest.mark.parametrize(
    ("name", "number", "null"), [("spark/hive", "id", "year"), ("duckdb/hive", "i", "tag")]
)
def test_partition_directories_become_columns(name, number, null):
    types = {number: int, "v": str, "year": int, "tag": str}
    rows = list(read(name, {**types, null: hr.Nullable(types[null])}))
    assert sorted(int(row[number]) for row in rows) == list(range(12))
    for row in rows:
        n = int(row[number])
        assert row["v"] == f"v{n}"
        if name == "spark/hive":
            assert (int(row["year"]), row["tag"]) == (n % 4, f"a b/{n % 2}")
            assert row["year_mask"] == (n % 4 > 0)
        else:
            assert (int(row["year"]), row["tag"]) == (2000 + n % 3, "" if n % 2 else "a b")
    result = hr.parquet(FILES / name, {number: int}, where=[("year", "==", rows[0]["year"])])
    assert 0 < len(list(result)) < 12
