"""The output files of each format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.cli.convert.request import Format, Request
from headrace.cli.examples.schema import FeatureSummary, Schema
from headrace.cli.failures import Failure
from headrace.core.optional_dependencies import missing_parquet
from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.csv import CsvShard, check_csv_columns
from headrace.pipeline.writing.json_lines import JsonShard, check_json_columns
from headrace.pipeline.writing.parquet import ParquetShard
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.tar import TarShard
from headrace.pipeline.writing.tfrecord import RecordShard
from headrace.pipeline.writing.wording import Wording

__all__ = ["HAS_COLUMNS", "check_columns", "check_parquet", "columns_of", "make_shard"]

# Formats for which all examples are examined before writing.
HAS_COLUMNS: Final = (Format.CSV, Format.JSON_LINES, Format.PARQUET)
_WORDING: Final = Wording(
    component="feature",
    drop="drop it with --select",
    as_text="Use --base64 {name} to write them as base64, or use --to parquet or tar",
    as_list="Use --to json-lines or parquet",
    as_numbers="Use --to parquet.",
    new_key="Use --key, or drop the feature with --select",
    other_key="Use another --key, or rename the feature with --rename.",
    rename="Rename it: --rename '{name}=jpg'",
)


def columns_of(schema: Schema, request: Request) -> list[Column]:
    """Returns the columns for the features.

    Raises:
        Failure: If the values of a feature have different types.
    """
    for name in request.base64:
        if name not in schema.features:
            raise Failure(f"--base64 {name}: no such feature.")
    return [
        Column(name, _kind(name, feature, request), int(not feature.is_scalar))
        for name, feature in schema.features.items()
    ]


def _kind(name: str, feature: FeatureSummary, request: Request) -> str:
    kinds = [kind for kind in feature.kinds if kind is not None]
    if len(kinds) > 1:
        raise Failure(
            f"the feature '{name}' is {feature.kind}, but it must have the same type in all "
            "examples. Drop it with --select."
        )
    if kinds != ["bytes"]:
        return kinds[0] if kinds else "int64"
    if name in request.base64:
        return "base64"
    return "text" if feature.is_text else "bytes"


def check_columns(columns: Sequence[Column], request: Request) -> None:
    """Raises UnwritableError if the output format cannot hold a column."""
    match request.to:
        case Format.CSV:
            check_csv_columns(columns, _WORDING)
        case Format.JSON_LINES:
            check_json_columns(columns, _WORDING)


def check_parquet() -> None:
    """Raises Failure if no package that writes Parquet is installed."""
    if missing := missing_parquet():
        raise Failure(f"--to parquet: {missing}")


def make_shard(path: str, columns: Sequence[Column], request: Request) -> Shard:
    """Starts an output file."""
    match request.to:
        case Format.CSV:
            return CsvShard(path, request.compression, columns)
        case Format.JSON_LINES:
            return JsonShard(path, request.compression, columns, _WORDING)
        case Format.PARQUET:
            return ParquetShard(path, request.compression, columns)
        case Format.TAR:
            return TarShard(path, request.compression, request.key, _WORDING)
    return RecordShard(path, request.compression, _WORDING)
