"""CSV, JSON lines, tar and text: files that pipeline sources can read."""

from __future__ import annotations

from typing import Any, Final

from headrace.cli.examples.schema import Schema
from headrace.cli.file_kinds import Content, Kind
from headrace.cli.file_pipelines import ALL, source_of
from headrace.cli.inspect.report import InspectOptions, ShownExample, counts, damage_of
from headrace.pipeline.writing.values import values_of_example

__all__ = ["report_of_table", "report_of_text"]

_UNITS: Final = {
    Kind.TAR: "samples",
    Kind.CSV: "rows",
    Kind.JSON_LINES: "objects",
    Kind.JSON_ARRAY: "objects",
}


def report_of_table(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a file, and its first rows, objects or samples."""
    report = counts(content, looked, _UNITS[content.kind])
    schema, shown = Schema(), []
    with iter(source_of(content).skip_errors(ALL).take(looked.num_records)) as examples:
        for number, example in enumerate(examples):
            values = values_of_example(example)
            schema.add(values)
            if number < looked.num_examples:
                shown.append(ShownExample(number, values))
        if looked.is_quick:
            report["damage"] = damage_of(examples.skipped)
    report["looked_at"] = schema.num_examples
    report["features"] = schema.as_json()
    return report, shown


def report_of_text(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a text file, and its first lines."""
    report = counts(content, looked, "lines")
    with iter(source_of(content).skip_errors(ALL).take(looked.num_examples)) as examples:
        return report, [
            ShownExample(n, values_of_example(example)) for n, example in enumerate(examples)
        ]
