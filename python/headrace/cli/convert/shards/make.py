"""The shards of each format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.shards.column import Column
from headrace.cli.convert.shards.csv import CsvShard, check_csv_columns
from headrace.cli.convert.shards.json_lines import JsonShard, check_json_columns
from headrace.cli.convert.shards.parquet import ParquetShard
from headrace.cli.convert.shards.shard import Shard
from headrace.cli.convert.shards.tar import TarShard
from headrace.cli.convert.shards.tfrecord import RecordShard

__all__ = ["HAS_COLUMNS", "check_columns", "make_shard"]

# The formats for which all examples are examined first.
HAS_COLUMNS: Final = (Format.CSV, Format.JSON_LINES, Format.PARQUET)
_CHECKS: Final[dict[str, Callable[[Sequence[Column]], None]]] = {
    Format.CSV: check_csv_columns,
    Format.JSON_LINES: check_json_columns,
}


def check_columns(columns: Sequence[Column], request: Request) -> None:
    """Raises Failure if the format of the output cannot hold a column."""
    if check := _CHECKS.get(request.to):
        check(columns)


def make_shard(path: str, columns: Sequence[Column], request: Request) -> Shard:
    """Begins a file of the output."""
    match request.to:
        case Format.CSV:
            return CsvShard(path, request.compression, columns)
        case Format.JSON_LINES:
            return JsonShard(path, request.compression, columns)
        case Format.PARQUET:
            return ParquetShard(path, request.compression, columns)
        case Format.TAR:
            return TarShard(path, request.compression, request)
    return RecordShard(path, request.compression)
