"""Parquet files: the footer's contents, and the first rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headrace.cli.examples.schema import Schema
from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content
from headrace.cli.inspect.report import InspectOptions, ShownExample
from headrace.core.optional_dependencies import missing_parquet
from headrace.pipeline.writing.values import Values

__all__ = ["opened", "report_of_parquet"]


def opened(path: str) -> Any:
    """Opens a Parquet file. A page with a wrong checksum is an error.

    Raises:
        Failure: If the file is damaged, or no package that reads Parquet is installed.
    """
    if missing := missing_parquet():
        raise Failure(f"{path}: {missing}")
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        return parquet.ParquetFile(path, page_checksum_verification=True)
    except (arrow.ArrowException, OSError) as error:
        raise Failure(f"{path}: {error} Copy the file again.") from error


def report_of_parquet(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns a report from the footer and the first rows, and some rows to show."""
    with opened(content.path) as file:
        metadata = file.metadata
        columns = {column.name: str(column.type) for column in file.schema_arrow}
        rows = _first_rows(file, max(looked.num_records, looked.num_examples))
        codecs = {
            metadata.row_group(group).column(column).compression
            for group in range(metadata.num_row_groups)
            for column in range(metadata.num_columns)
        }
    schema, shown = Schema(), []
    for number, row in enumerate(rows):
        values = {name: _values(columns[name], one) for name, one in row.items() if one is not None}
        if number < looked.num_records:
            schema.add(values)
        if number < looked.num_examples:
            shown.append(ShownExample(number, values))
    for name, kind in columns.items():
        if name not in schema.features and schema.num_examples:
            schema.add_missing(name, kind)
    report = {
        "unit": "rows",
        "count": metadata.num_rows,
        "row_groups": metadata.num_row_groups,
        "codecs": sorted(codec.lower() for codec in codecs),
        "damage": [],
        "looked_at": schema.num_examples,
        "features": schema.as_json(),
    }
    return report, shown


def _first_rows(file: Any, number: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    if number:
        for batch in file.iter_batches(batch_size=min(number, 1024)):
            rows += batch.slice(0, number - len(rows)).to_pylist()
            if len(rows) >= number:
                break
    return rows


def _values(kind: str, value: Any) -> Values:
    """Converts a value of a column to `Values`, with the name of its Arrow type."""
    if isinstance(value, bytes):
        return Values("bytes", [value], ())
    if isinstance(value, str):
        return Values("str", [value], ())
    if isinstance(value, list):
        return Values(kind, [item for item in value if isinstance(item, (int, float))])
    return Values(kind, [value] if isinstance(value, (int, float)) else (), ())
