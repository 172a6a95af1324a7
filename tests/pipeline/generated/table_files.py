"""Random table files of several writers, with many options, and the values they hold."""

import bz2
import gzip
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from tests.pipeline.generated.table_writers import (
    TABLE_WRITERS,
    TEXT_WRITERS,
    TextColumn,
    TextFile,
)
from tests.pipeline.sources.tables.written_tables import TABLE_TYPES, plain, random_table

import headrace as hr

__all__ = ["WRITERS", "check_table_file"]

# The values that a text file can store.
_WORDS: Final = ["", "é", "a b", '"', "x,y", "two\nlines", "\t", "'", "ünïcode 🎉", "0123"]
_COMPRESSIONS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}
# Each format with each of its installed writers.
WRITERS: Final = [
    (name, writer)
    for name, writers in {**TABLE_WRITERS, **TEXT_WRITERS}.items()
    for writer in writers
]


def check_table_file(name: str, writer: str, number: int, directory: Path) -> None:
    """Writes a random file, and compares its values with those that headrace reads.

    Args:
        name: The name of the format.
        writer: The name of the writer. `WRITERS` lists those that are installed.
        number: The number of the file. The same number always creates the same file.
        directory: A directory for it.
    """
    random = Random(f"{name} {writer} {number}")
    if name in TABLE_WRITERS:
        _check_typed(name, writer, random, directory)
    elif name == "csv":
        _check_csv(writer, random, directory)
    else:
        _check_json(name, writer, random, directory)


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


def _check_typed(name: str, writer: str, random: Random, directory: Path) -> None:
    """Checks a file of Parquet or Arrow."""
    _, write, types, needs_values = TABLE_WRITERS[name][writer]
    path, table = directory / f"a.{name}", _table(random, types, needs_values)
    write(table, path, random)
    _check_table(getattr(hr, name), path, table, random)


def _table(random: Random, types: frozenset[str], needs_values: bool) -> Any:
    names = random.sample(sorted(types), random.randint(1, 5))
    kinds = {name: TABLE_TYPES[name][0] for name in names}
    is_filled = needs_values and "struct_of_all" in names
    num_rows = random.choice([0, 40, 200] if is_filled else [0, 1, 7, 40, 200])
    null_share = random.choice([0, 0.2] if is_filled else [0, 0.2, 1])
    return random_table(kinds, num_rows, null_share, random)


def _column(random: Random, words: tuple[Any, ...], num_rows: int, gap_share: float) -> TextColumn:
    """A random column of text: integers, floats of 32 and 64 bits, booleans or strings."""
    word: Any = random.choice(words)
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


def _text_columns(random: Random, words: tuple[Any, ...]) -> dict[str, TextColumn]:
    num_rows, gap_share = random.choice([1, 7, 100]), random.choice([0, 0.2])
    names = ["a", "b c", "ü", "D", "e.f"][: random.randint(1, 5)]
    return {name: _column(random, words, num_rows, gap_share) for name in names}


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


def _check_csv(writer: str, random: Random, directory: Path) -> None:
    _, write, words = TEXT_WRITERS["csv"][writer]
    columns = {
        # An empty field is a missing one.
        name: TextColumn(column.word, ["x" if value == "" else value for value in column.values])
        for name, column in _text_columns(random, words).items()
    }
    delimiter = random.choice([",", ";", "\t", "|"])
    # A line with one empty field alone would be blank.
    missing = random.choice(["", "NA"]) if len(columns) > 1 else "NA"
    text = write(TextFile(columns, directory, delimiter, missing), random)
    path = _compressed(random, directory, "a.csv", random.choice(["", "\ufeff"]) + text)

    def read(path: Path, *args: Any, **value: Any) -> hr.Pipeline:
        return hr.csv(path, *args, delimiter=delimiter, na_values=missing or (), **value)

    _check_text(read, path, columns)


def _check_json(name: str, writer: str, random: Random, directory: Path) -> None:
    _, write, words = TEXT_WRITERS[name][writer]
    drawn = _text_columns(random, words)
    columns = {key.replace(".", "_"): column for key, column in drawn.items()}
    is_array = name == "json_array"
    text = write(TextFile(columns, directory, is_array=is_array), random)
    path = _compressed(random, directory, "a.json" if is_array else "a.jsonl", text)
    _check_text(getattr(hr, name), path, columns)


def _compressed(random: Random, directory: Path, name: str, text: str) -> Path:
    ending = random.choice(sorted(_COMPRESSIONS))
    path = directory / f"{name}{ending}"
    path.write_bytes(_COMPRESSIONS[ending](text.encode()))
    return path
