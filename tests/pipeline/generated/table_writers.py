"""Programs that write tables, the options they are called with, and the types they can hold."""

import csv
import io
import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from tests.pipeline.sources.tables.written_tables import TABLE_TYPES, pa, pq

__all__ = ["TABLE_WRITERS", "TEXT_WRITERS", "TextColumn", "TextFile"]


class TextColumn(NamedTuple):
    """A column of a text file.

    Attributes:
        word: Its type in headrace.
        values: Its values, with None for missing ones.
    """

    word: Any
    values: list[Any]


class TextFile(NamedTuple):
    """What a text file should contain.

    Attributes:
        columns: The columns by name.
        directory: A directory for temporary files.
        delimiter: The delimiter of CSV.
        missing: The text of missing values of CSV.
        is_array: Whether JSON is one array, instead of lines.
    """

    columns: dict[str, TextColumn]
    directory: Path
    delimiter: str = ","
    missing: str = ""
    is_array: bool = False


class TableWriter(NamedTuple):
    """A program that writes files with typed columns.

    Attributes:
        package: The package that it needs.
        write: Writes an Arrow table to a path, with random options.
        types: The names of the types in `TABLE_TYPES` that it can hold exactly.
        needs_values: Whether it fails if a dictionary in a struct has no values.
    """

    package: str
    write: Callable[[Any, Path, Random], None]
    types: frozenset[str]
    needs_values: bool = True


class TextWriter(NamedTuple):
    """A program that writes text files.

    Attributes:
        package: The package that it needs.
        write: Returns the text of a file, written with random options.
        words: The types of the columns that it can write exactly.
    """

    package: str
    write: Callable[[TextFile, Random], str]
    words: tuple[Any, ...] = (int, np.uint8, float, np.float64, bool, str)


def _optional(name: str) -> Any:
    return import_module(name) if find_spec(name) else None


duckdb, fastparquet, orjson = map(_optional, ("duckdb", "fastparquet", "orjson"))
pd, pl = map(_optional, ("pandas", "polars"))

_CODECS: Final = ("snappy", "gzip", "zstd", "lz4", "brotli")
_ROWS: Final = (1, 9, 64, 10_000)
_INTEGERS: Final = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_STRINGS: Final = {"string", "large_string", "binary", "large_binary"}
# The encodings of Parquet other than PLAIN and dictionaries, by column.
_ENCODINGS: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("RLE",),
    **dict.fromkeys(("float16", "float32", "float64"), ("BYTE_STREAM_SPLIT",)),
    **dict.fromkeys(_INTEGERS, ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")),
    **dict.fromkeys(_STRINGS, ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
    "fixed_binary": ("DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
}


def _pyarrow_parquet(table: Any, path: Path, random: Random) -> None:
    has_dictionaries = random.random() < 0.5
    encodings = {} if has_dictionaries else _encodings(table, random)
    pq.write_table(
        table,
        path,
        row_group_size=random.choice(_ROWS),
        compression=random.choice(["none", *_CODECS]),
        use_dictionary=has_dictionaries,
        column_encoding=encodings or None,
        use_deprecated_int96_timestamps=random.random() < 0.2,
        store_decimal_as_integer=random.random() < 0.5,
        data_page_version=random.choice(["1.0", "2.0"]),
        data_page_size=random.choice([1, 100, 1 << 20]),
        dictionary_pagesize_limit=random.choice([1, 1 << 20]),
        write_statistics=random.random() < 0.7,
        write_page_index=random.random() < 0.3,
        write_page_checksum=random.random() < 0.3,
        use_compliant_nested_type=random.random() < 0.7,
    )


def _encodings(table: Any, random: Random) -> dict[str, str]:
    """Returns encodings for some of the columns that are not nested."""
    names = [name for name in table.column_names if name in _ENCODINGS and random.random() < 0.5]
    return {name: random.choice(_ENCODINGS[name]) for name in names}


def _polars_parquet(table: Any, path: Path, random: Random) -> None:
    pl.from_arrow(table, rechunk=random.random() < 0.5).write_parquet(
        path,
        compression=random.choice(["uncompressed", *_CODECS]),
        statistics=random.choice([True, False, "full"]),
        row_group_size=random.choice(_ROWS),
        data_page_size=random.choice([1, 100, 1 << 20]),
    )


def _duckdb_parquet(table: Any, path: Path, random: Random) -> None:
    # In V2, DuckDB writes differences of 32-bit integers that don't fit into 32 bits. Neither
    # pyarrow nor headrace reads these.
    versions = ["V1"] if "int32" in str(table.schema) else ["V1", "V2"]
    options = {
        "FORMAT": "parquet",
        "COMPRESSION": random.choice(["uncompressed", *_CODECS]),
        "PARQUET_VERSION": random.choice(versions),
        "ROW_GROUP_SIZE": random.choice(_ROWS),
        "DICTIONARY_SIZE_LIMIT": random.choice([1, 10_000]),
    }
    _copy_by_duckdb(table, path, options)


def _fastparquet(table: Any, path: Path, random: Random) -> None:
    def series(column: Any) -> Any:
        name = str(column.type)
        if name in ("string", "binary"):
            return pd.Series(column.to_pylist(), dtype=object)
        if (column.null_count and "int" in name) or name == "bool":
            # The types of pandas that have missing values.
            kind = "boolean" if name == "bool" else name.replace("u", "U").replace("int", "Int")
            return pd.Series(column.to_pylist(), dtype=kind)
        return column.to_pandas()

    # Its timestamps of 96 bits are only correct if they are nanoseconds.
    has_other_times = not {"at_ms", "at_us"}.isdisjoint(table.column_names)
    times = ["int64"] if has_other_times else ["int64", "int96"]
    frame = pd.DataFrame({name: series(table[name]) for name in table.column_names})
    fastparquet.write(
        str(path),
        frame,
        row_group_offsets=random.choice(_ROWS),
        compression=random.choice([None, "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI"]),
        stats=random.choice([True, False, "auto"]),
        times=random.choice(times),
    )


def _pyarrow_ipc(table: Any, path: Path, random: Random) -> None:
    options = pa.ipc.IpcWriteOptions(
        compression=random.choice([None, "lz4", "zstd"]),
        metadata_version=pa.ipc.MetadataVersion.V5,
        unify_dictionaries=random.random() < 0.5,
    )
    new = random.choice([pa.ipc.new_file, pa.ipc.new_stream])
    if new is pa.ipc.new_file:
        # A file has one dictionary for each column.
        table = table.unify_dictionaries()
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=random.choice(_ROWS))


def _polars_ipc(table: Any, path: Path, random: Random) -> None:
    frame = pl.from_arrow(table, rechunk=random.random() < 0.5)
    write = random.choice([frame.write_ipc, frame.write_ipc_stream])
    write(
        path,
        compression=random.choice(["uncompressed", "lz4", "zstd"]),
        compat_level=random.choice([pl.CompatLevel.newest(), pl.CompatLevel.oldest()]),
    )


def _copy_by_duckdb(table: Any, path: Path, options: dict[str, Any]) -> None:
    words = ", ".join(f"{name} {_sql(value)}" for name, value in options.items())
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("written", table)
        connection.execute(f"COPY (SELECT * FROM written) TO {_sql(str(path))} ({words})")


def _sql(value: Any) -> str:
    is_text = isinstance(value, str) and value != "*"
    return "'{}'".format(value.replace("'", "''")) if is_text else str(value)


def _text_table(file: TextFile, random: Random) -> Any:
    """Returns the columns of a text file as an Arrow table."""
    kinds = {int: "int64", np.uint8: "uint8", np.float64: "float64", bool: "bool", str: "string"}
    kinds[float] = random.choice(["float32", "float64"])
    return pa.table({name: pa.array(c.values, kinds[c.word]) for name, c in file.columns.items()})


def _text_frame(file: TextFile, random: Random) -> Any:
    """Returns the columns of a text file as a data frame of pandas."""
    kinds = {int: "Int64", np.uint8: "UInt8", np.float64: "float64", bool: "boolean", str: object}
    kinds[float] = random.choice(["float32", "float64"])
    columns = file.columns.items()
    return pd.DataFrame({name: pd.Series(c.values, dtype=kinds[c.word]) for name, c in columns})


def _quoting(file: TextFile, random: Random, styles: list[Any]) -> Any:
    """Returns one of some styles, or the first if a missing value in quotes would be a string."""
    return random.choice(styles) if file.missing else styles[0]


def _python_csv(file: TextFile, random: Random) -> str:
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=file.delimiter,
        lineterminator=random.choice(["\n", "\r\n"]),
        quoting=_quoting(file, random, [csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    )
    writer.writerow(file.columns)
    for row in zip(*(column.values for column in file.columns.values()), strict=True):
        writer.writerow([file.missing if v is None else _csv_text(v, random) for v in row])
    return text.getvalue()


def _csv_text(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return random.choice([str(value), str(value).lower(), str(int(value))])
    return repr(value) if isinstance(value, float) else value


def _pandas_csv(file: TextFile, random: Random) -> str:
    text: str = _text_frame(file, random).to_csv(
        index=False,
        sep=file.delimiter,
        na_rep=file.missing,
        lineterminator=random.choice(["\n", "\r\n"]),
        quoting=_quoting(file, random, [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    )
    return text


def _polars_csv(file: TextFile, random: Random) -> str:
    text: str = pl.from_arrow(_text_table(file, random)).write_csv(
        separator=file.delimiter,
        null_value=file.missing,
        line_terminator=random.choice(["\n", "\r\n"]),
        quote_style=_quoting(file, random, ["necessary", "always", "non_numeric"]),
        batch_size=random.choice([1, 1024]),
    )
    return text


def _pyarrow_csv(file: TextFile, random: Random) -> str:
    arrow_csv, table, text = import_module("pyarrow.csv"), _text_table(file, random), io.BytesIO()
    if file.missing:
        # pyarrow always writes nulls as empty fields.
        filled = [
            column.cast("string").fill_null(file.missing) if column.null_count else column
            for column in table.columns
        ]
        table = pa.table(filled, table.column_names)
    options = arrow_csv.WriteOptions(
        delimiter=file.delimiter,
        quoting_style=random.choice(["needed", "all_valid"]),
        batch_size=random.choice([1, 1024]),
    )
    arrow_csv.write_csv(table, text, options)
    return text.getvalue().decode()


def _duckdb_csv(file: TextFile, random: Random) -> str:
    options = {"HEADER": True, "DELIMITER": file.delimiter, "NULLSTR": file.missing}
    if random.random() < 0.5:
        options["FORCE_QUOTE"] = "*"
    return _text_by_duckdb(file, random, {"FORMAT": "csv", **options})


def _python_json(file: TextFile, random: Random) -> str:
    def dumped(rows: Any) -> str:
        is_ascii, separators = random.random() < 0.5, random.choice([(", ", ": "), (",", ":")])
        indent = random.choice([None, None, 0, 2, "\t"]) if file.is_array else None
        return json.dumps(rows, ensure_ascii=is_ascii, separators=separators, indent=indent)

    return _json_of_rows(file, random, dumped)


def _orjson(file: TextFile, random: Random) -> str:
    def dumped(rows: Any) -> str:
        is_indented = file.is_array and random.random() < 0.5
        return orjson.dumps(rows, option=orjson.OPT_INDENT_2 if is_indented else 0).decode()

    return _json_of_rows(file, random, dumped)


def _json_of_rows(file: TextFile, random: Random, dumped: Callable[[Any], str]) -> str:
    """Returns objects with keys in any order, without some that are null."""
    rows = []
    for row in zip(*(column.values for column in file.columns.values()), strict=True):
        pairs = [
            (name, value)
            for name, value in zip(file.columns, row, strict=True)
            if value is not None or random.random() < 0.5
        ]
        random.shuffle(pairs)
        rows.append(dict(pairs))
    if file.is_array:
        before, after = random.choice(["", "\ufeff", " \n"]), random.choice(["", "\n", "\r\n\t "])
        return before + dumped(rows) + after
    lines = []
    for pairs in rows:
        lines += [dumped(pairs), *[""] * (random.random() < 0.1)]
    end = random.choice(["\n", "\r\n"])
    return end.join(lines) + end * random.randint(0, 1)


def _pandas_json(file: TextFile, random: Random) -> str:
    text: str = _text_frame(file, random).to_json(
        orient="records",
        lines=not file.is_array,
        force_ascii=random.random() < 0.5,
        indent=random.choice([None, 2]) if file.is_array else None,
    )
    return text


def _polars_json(file: TextFile, random: Random) -> str:
    frame = pl.from_arrow(_text_table(file, random), rechunk=random.random() < 0.5)
    text: str = frame.write_json() if file.is_array else frame.write_ndjson()
    return text


def _duckdb_json(file: TextFile, random: Random) -> str:
    return _text_by_duckdb(file, random, {"FORMAT": "json", "ARRAY": file.is_array})


def _text_by_duckdb(file: TextFile, random: Random, options: dict[str, Any]) -> str:
    path = file.directory / "duckdb"
    _copy_by_duckdb(_text_table(file, random), path, options)
    return path.read_bytes().decode()


_ALL: Final = frozenset(TABLE_TYPES)
# Of the types of Arrow, polars has no maps.
_POLARS: Final = _ALL - {"map", "map_of_numbers", "wide_decimal"}
# DuckDB has no nulls without a type, and writes durations as a number of months, days and ms.
_DUCKDB: Final = _ALL - {
    *("null", "list_of_nulls", "struct_of_null", "duration", "wide_decimal", "float16")
}
_FASTPARQUET: Final = _INTEGERS | {
    *("bool", "float32", "float64", "string", "binary", "at_ms", "at_us", "at_ns")
}

_CSV: Final = {
    "python": TextWriter("csv", _python_csv),
    "pandas": TextWriter("pandas", _pandas_csv),
    "polars": TextWriter("polars", _polars_csv),
    "pyarrow": TextWriter("pyarrow", _pyarrow_csv),
    "duckdb": TextWriter("duckdb", _duckdb_csv),
}
_JSON: Final = {
    "python": TextWriter("json", _python_json),
    "orjson": TextWriter("orjson", _orjson),
    # pandas rounds floats to at most 15 digits.
    "pandas": TextWriter("pandas", _pandas_json, (int, np.uint8, bool, str)),
    "polars": TextWriter("polars", _polars_json),
    "duckdb": TextWriter("duckdb", _duckdb_json),
}


def _installed(writers: dict[str, Any]) -> dict[str, Any]:
    return {name: writer for name, writer in writers.items() if find_spec(writer.package)}


# The installed writers by format and name.
TABLE_WRITERS: Final = {
    "parquet": _installed(
        {
            "pyarrow": TableWriter("pyarrow", _pyarrow_parquet, _ALL),
            "polars": TableWriter("polars", _polars_parquet, _POLARS),
            "duckdb": TableWriter("duckdb", _duckdb_parquet, _DUCKDB),
            "fastparquet": TableWriter("fastparquet", _fastparquet, frozenset(_FASTPARQUET)),
        }
    ),
    "arrow": _installed(
        {
            "pyarrow": TableWriter("pyarrow", _pyarrow_ipc, _ALL, needs_values=False),
            "polars": TableWriter("polars", _polars_ipc, _POLARS),
        }
    ),
}
TEXT_WRITERS: Final = {
    "csv": _installed(_CSV),
    "json_lines": _installed(_JSON),
    "json_array": _installed(_JSON),
}
