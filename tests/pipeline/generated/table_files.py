"""Random table files of pyarrow and Python: their writers' options, and the values they hold."""

import bz2
import csv
import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from tests.pipeline.sources.tables.written_tables import TABLE_TYPES, pa, plain, pq, random_table

import headrace as hr

__all__ = ["WRITERS", "check_table_file"]

# The values that a text file can store.
_WORDS: Final = ["", "é", "a b", '"', "x,y", "two\nlines", "\t", "'", "ünïcode 🎉", "0123"]
_COMPRESSIONS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}
_PARQUET_CODECS: Final = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


class TextColumn(NamedTuple):
    """A column of a text file.

    Attributes:
        word: Its type in headrace.
        values: Its values, with None for missing ones.
    """

    word: Any
    values: list[Any]


def check_table_file(writer: str, number: int, directory: Path) -> None:
    """Writes a random file, and compares its values with those that headrace reads.

    Args:
        writer: One of `WRITERS`.
        number: The number of the file. The same number always creates the same file.
        directory: A directory for it.
    """
    WRITERS[writer](Random(f"{writer} {number}"), directory)


def _check_table(read: Callable[..., hr.Pipeline], path: Path, table: Any, random: Random) -> None:
    """Compares some columns of an Arrow table with the values read."""
    names = random.sample(table.column_names, random.randint(1, table.num_columns))
    words = {name: TABLE_TYPES[name][1] for name in names}
    columns = {name: word if word is hr.Json else hr.Nullable(word) for name, word in words.items()}
    pipeline = read(path, columns).options(num_threads=random.choice([1, 4]))
    rows, expected = list(pipeline), table.select(names).to_pylist()
    assert len(rows) == len(expected) == len(read(path, columns))
    for row, values in zip(rows, expected, strict=True):
        for name in names:
            kind, value = TABLE_TYPES[name][0], values[name]
            if words[name] is not hr.Json:
                assert bool(row[f"{name}_mask"]) == (value is not None), name
            if value is not None or words[name] is hr.Json:
                got, requested = plain(row[name], kind), plain(value, kind)
                assert got == requested, f"{name}: {got!r}, expected {requested!r}"
    _check_refusal(read, path, table, random)


def _check_refusal(
    read: Callable[..., hr.Pipeline], path: Path, table: Any, random: Random
) -> None:
    """A null is an error in a column that has no value for it."""
    name = random.choice(table.column_names)
    word = TABLE_TYPES[name][1]
    if word is hr.Json:
        return
    pipeline = read(path, {name: word})
    if not table[name].null_count:
        assert len(list(pipeline)) == table.num_rows
        return
    try:
        rows = list(pipeline)
    except hr.errors.InvalidArgumentError as error:
        assert f"the column '{name}' has a null" in str(error)  # noqa: PT017
    else:
        raise AssertionError(f"a null of {name} was read: {rows}")


def _table(random: Random, in_parquet: bool = False) -> Any:
    names = random.sample(sorted(TABLE_TYPES), random.randint(1, 5))
    kinds = {name: TABLE_TYPES[name][0] for name in names}
    # To Parquet, pyarrow writes no dictionary without a value in a struct that is null.
    is_filled = in_parquet and "struct_of_all" in names
    num_rows = random.choice([0, 40, 200] if is_filled else [0, 1, 7, 40, 200])
    null_share = random.choice([0, 0.2] if is_filled else [0, 0.2, 1])
    return random_table(kinds, num_rows, null_share, random)


def _parquet(random: Random, directory: Path) -> None:
    path, table = directory / "a.parquet", _table(random, in_parquet=True)
    pq.write_table(
        table,
        path,
        row_group_size=random.choice([1, 9, 64, 10_000]),
        compression=random.choice(_PARQUET_CODECS),
        use_dictionary=random.random() < 0.5,
        data_page_version=random.choice(["1.0", "2.0"]),
        data_page_size=random.choice([1, 100, 1 << 20]),
        dictionary_pagesize_limit=random.choice([1, 1 << 20]),
        write_statistics=random.random() < 0.7,
        write_page_index=random.random() < 0.3,
        write_page_checksum=random.random() < 0.3,
        use_compliant_nested_type=random.random() < 0.7,
    )
    _check_table(hr.parquet, path, table, random)


def _arrow(random: Random, directory: Path) -> None:
    path, table = directory / "a.arrow", _table(random)
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
        writer.write_table(table, max_chunksize=random.choice([1, 9, 64, 10_000]))
    _check_table(hr.arrow, path, table, random)


def _column(random: Random, num_rows: int, gap_share: float) -> TextColumn:
    """A random column of text: integers, floats of 32 and 64 bits, booleans or strings."""
    word: Any = random.choice([int, np.uint8, float, np.float64, bool, str])
    kind = np.dtype(word) if word not in (str, bool, float) else None

    def value() -> Any:
        if random.random() < gap_share:
            return None
        match word:
            case _ if word is str:
                return random.choice(_WORDS)
            case _ if word is bool:
                return random.random() < 0.5
            case _ if word is float:
                return float(np.float32(random.choice([random.uniform(-9, 9), 0.1, 2**24, 1e30])))
            case _ if kind is not None and kind.kind == "f":
                return random.choice([random.uniform(-9e9, 9e9), 0.1, 2.0**53, 5e-324])
            case _:
                limits = np.iinfo(kind)
                return random.choice([int(limits.min), int(limits.max), random.randrange(100)])

    values = [value() for _ in range(num_rows)]
    if values.count(None) == num_rows:
        gap_share = 0
        values[0] = value()
    return TextColumn(word, values)


def _text_columns(random: Random) -> dict[str, TextColumn]:
    num_rows, gap_share = random.choice([1, 7, 100]), random.choice([0, 0.2])
    names = ["a", "b c", "ü", "D", "e.f"][: random.randint(1, 5)]
    return {name: _column(random, num_rows, gap_share) for name in names}


def _check_text(
    read: Callable[..., hr.Pipeline], path: Path, columns: dict[str, TextColumn]
) -> None:
    """Compares columns with the values read: all with masks, and each one without."""
    nullable = {name: hr.Nullable(column.word) for name, column in columns.items()}
    pipelines = [read(path, nullable)]
    if any(value is not None for column in columns.values() for value in column.values):
        pipelines.append(read(path, dtypes=nullable))
    for pipeline in pipelines:
        rows = list(pipeline)
        for name, column in columns.items():
            masks = [bool(row[f"{name}_mask"]) for row in rows]
            assert masks == [value is not None for value in column.values], name
            _check_values(name, column, [row[name] for row in rows])
    for name, column in columns.items():
        pipeline = read(path, {name: column.word})
        # An empty field of CSV is a string.
        is_refused = None in column.values and not (".csv" in path.name and column.word is str)
        try:
            rows = list(pipeline)
        except hr.errors.InvalidArgumentError:
            assert is_refused, name
        else:
            assert not is_refused, f"a gap of {name} was read"
            _check_values(name, column, [row[name] for row in rows])


def _check_values(name: str, column: TextColumn, argument: list[Any]) -> None:
    for got, value in zip(argument, column.values, strict=True):
        if value is None:
            continue
        is_same = got == value and (not isinstance(value, float) or _sign(got) == _sign(value))
        assert is_same, f"{name}: {got!r}, expected {value!r}"


def _sign(value: float) -> float:
    return math.copysign(1, value)


def _csv(random: Random, directory: Path) -> None:
    columns = {
        # An empty field is a missing one.
        name: TextColumn(column.word, ["x" if value == "" else value for value in column.values])
        for name, column in _text_columns(random).items()
    }
    delimiter = random.choice([",", ";", "\t", "|"])
    # A line with one empty field alone would be blank.
    missing = random.choice(["", "NA"]) if len(columns) > 1 else "NA"
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator=random.choice(["\n", "\r\n"]),
        quoting=random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]) if missing else csv.QUOTE_MINIMAL,
    )
    writer.writerow(columns)
    for row in zip(*(column.values for column in columns.values()), strict=True):
        writer.writerow([missing if value is None else _csv_text(random, value) for value in row])
    mark = random.choice(["", "\ufeff"])
    path = _compressed(random, directory, "a.csv", mark + text.getvalue())

    def read(path: Path, *args: Any, **value: Any) -> hr.Pipeline:
        return hr.csv(path, *args, delimiter=delimiter, na_values=missing or (), **value)

    _check_text(read, path, columns)


def _csv_text(random: Random, value: Any) -> Any:
    if isinstance(value, bool):
        return random.choice([str(value), str(value).lower(), str(int(value))])
    return repr(value) if isinstance(value, float) else value


def _json_rows(random: Random) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Columns, and their rows as objects with keys in any order, without some that are null."""
    columns = {name.replace(".", "_"): column for name, column in _text_columns(random).items()}
    rows = []
    for row in zip(*(column.values for column in columns.values()), strict=True):
        pairs = [
            (name, value)
            for name, value in zip(columns, row, strict=True)
            if value is not None or random.random() < 0.5
        ]
        random.shuffle(pairs)
        rows.append(dict(pairs))
    return columns, rows


def _json_lines(random: Random, directory: Path) -> None:
    columns, rows = _json_rows(random)
    lines = []
    for row in rows:
        is_ascii, separators = random.random() < 0.5, random.choice([(", ", ": "), (",", ":")])
        lines.append(json.dumps(row, ensure_ascii=is_ascii, separators=separators))
        lines += [""] * (random.random() < 0.1)
    end = random.choice(["\n", "\r\n"])
    path = _compressed(random, directory, "a.jsonl", end.join(lines) + end * random.randint(0, 1))
    _check_text(hr.json_lines, path, columns)


def _json_array(random: Random, directory: Path) -> None:
    columns, rows = _json_rows(random)
    is_ascii, separators = random.random() < 0.5, random.choice([(", ", ": "), (",", ":")])
    indent = random.choice([None, None, 0, 2, "\t"])
    text = json.dumps(rows, ensure_ascii=is_ascii, separators=separators, indent=indent)
    before, after = random.choice(["", "\ufeff", " \n"]), random.choice(["", "\n", "\r\n\t "])
    path = _compressed(random, directory, "a.json", before + text + after)
    _check_text(hr.json_array, path, columns)


def _compressed(random: Random, directory: Path, name: str, text: str) -> Path:
    ending = random.choice(sorted(_COMPRESSIONS))
    path = directory / f"{name}{ending}"
    path.write_bytes(_COMPRESSIONS[ending](text.encode()))
    return path


WRITERS: Final[dict[str, Callable[[Random, Path], None]]] = {
    "arrow": _arrow,
    "csv": _csv,
    "json_array": _json_array,
    "json_lines": _json_lines,
    "parquet": _parquet,
}
