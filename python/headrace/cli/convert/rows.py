"""Rows: the values of an example's features, on their way from a source to an output."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import Any

from headrace.cli.convert.numbers import converted, rules_of
from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.source import Source
from headrace.cli.examples.values import values_of_record
from headrace.cli.failures import Failure
from headrace.pipeline import Json
from headrace.pipeline.writing.values import Row, Values, values_of_example

__all__ = ["row_maker"]


def row_maker(source: Source, request: Request) -> Callable[[dict[str, Any], int], Row]:
    """Returns a function that converts a source's example and its number to a row."""
    make = _maker(source)
    # All examples were checked before writing, but files may have changed since then.
    rules = rules_of(source, request)
    if not (request.select or request.rename or rules or _decodes(source, request)):
        return make
    old_names = {old: new for new, old in request.rename}

    def chosen(example: dict[str, Any], number: int) -> Row:
        row = make(example, number)
        if request.select:
            row = {name: row[name] for name in request.select if name in row}
        if _decodes(source, request):
            row = {name: _plain(name, one, request) for name, one in row.items()}
        if rules:
            row = {
                name: converted(name, one, rules[name], number) if name in rules else one
                for name, one in row.items()
            }
        renamed = {old_names.get(name, name): values for name, values in row.items()}
        if len(renamed) < len(row):
            raise Failure(
                f"--rename: example {number} would have two features with the same name. Use "
                "different names."
            )
        return renamed

    return chosen


def _decodes(source: Source, request: Request) -> bool:
    """Returns whether base64 is decoded, which only conversions from text to TFRecords do."""
    return bool(request.base64) and source.format != Format.TFRECORD


def _plain(name: str, values: Values, request: Request) -> Values:
    if name not in request.base64:
        return values
    try:
        return Values("bytes", [base64.b64decode(item, validate=True) for item in values.items])
    except (TypeError, ValueError) as error:
        raise Failure(f"--base64 {name}: a value is not valid base64: {error}.") from error


def _maker(source: Source) -> Callable[[dict[str, Any], int], Row]:
    if source.format == Format.TFRECORD:
        return _row_of_record
    if source.format == Format.IMAGE_FOLDER:
        return _row_of_image(source)
    if source.format == Format.IMAGES:
        return _row_of_file
    nested = [name for name, spec in source.plain.spec.items() if spec.dtype is Json]

    def row(example: dict[str, Any], _number: int) -> Row:
        texts = {name: json.dumps(example[name], ensure_ascii=False) for name in nested}
        return values_of_example({**example, **texts})

    return row


def _row_of_record(example: dict[str, Any], number: int) -> Row:
    row = values_of_record(example["record"])
    if row is None:
        raise Failure(
            f"example {number} is not an Example, so it has no features. Such TFRecords can only "
            "be converted to TFRecords."
        )
    return row


def _row_of_image(source: Source) -> Callable[[dict[str, Any], int], Row]:
    classes, root = source.pipeline.classes, os.path.join(source.root or "", "")

    def row(example: dict[str, Any], _number: int) -> Row:
        # Image paths on this machine are private.
        path = example["path"].removeprefix(root)
        return values_of_example({**example, "path": path, "class": classes[int(example["label"])]})

    return row


def _row_of_file(example: dict[str, Any], _number: int) -> Row:
    return values_of_example({**example, "path": os.path.basename(example["path"])})
