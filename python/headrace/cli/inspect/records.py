"""TFRecord files: their records, and the examples in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.cli.examples.schema import Schema
from headrace.cli.examples.values import sequences_of_record, values_of_record
from headrace.cli.file_kinds import Content
from headrace.cli.file_pipelines import ALL, source_of
from headrace.cli.inspect.report import InspectOptions, ShownExample, counts, damage_of
from headrace.pipeline.writing.values import Values

__all__ = ["report_of_records"]


def report_of_records(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a TFRecord file and its first examples."""
    report = counts(content, looked, "records")
    schema, sequences = Schema(), Schema()
    num_other, shown = 0, []
    for number, record in enumerate(_records(content, looked, report)):
        features = values_of_record(record)
        lists = sequences_of_record(record) if features is not None else None
        if features is None:
            num_other += 1
        else:
            schema.add(features)
            if lists:
                sequences.add(lists)
        if number < looked.num_examples:
            raw = {"record": Values("bytes", [record], ())}
            shown.append(
                ShownExample(number, raw if features is None else {**features, **(lists or {})})
            )
    report["looked_at"] = schema.num_examples + num_other
    if not schema.features and not sequences.features:
        # Empty records are valid Examples without features, but they are not counted as Examples.
        num_other = report["looked_at"]
    report["examples"] = _kind(sequences, report["looked_at"], num_other)
    report["features"] = schema.as_json()
    report["feature_lists"] = sequences.as_json()
    report["no_examples"] = num_other
    return report, shown


def _records(content: Content, looked: InspectOptions, report: dict[str, Any]) -> Iterator[bytes]:
    """Yields the first records. Adds their damage to the report, unless all records were read."""
    source = source_of(content).skip_errors(ALL).take(looked.num_records)
    with iter(source) as examples:
        for example in examples:
            yield example["record"]
        if looked.is_quick:
            report["damage"] = damage_of(examples.skipped)


def _kind(sequences: Schema, num_looked: int, num_other: int) -> str | None:
    if num_other == num_looked:
        return "bytes" if num_looked else None
    return "SequenceExample" if sequences.num_examples else "Example"
