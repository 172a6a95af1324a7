"""Surveys all examples before the first file is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from headrace import ops
from headrace.cli.convert.folder import FolderPlan, folder_plan
from headrace.cli.convert.numbers import (
    Rule,
    changed,
    check_casts,
    first_changed,
    rules_of,
)
from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.shards import HAS_COLUMNS, check_columns, columns_of
from headrace.cli.convert.source import Source
from headrace.cli.examples.schema import Schema
from headrace.cli.examples.values import values_of_record
from headrace.cli.failures import Failure
from headrace.cli.interrupts import Interrupts
from headrace.core.progress import Bar
from headrace.pipeline import Pipeline
from headrace.pipeline.native_functions import native
from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.values import Row

__all__ = ["Survey", "checked_names", "surveyed"]

_BATCH: Final = 1 << 12
# After this many examples, all feature names are considered known.
_LOOKED_AT: Final = 1000


class Survey(NamedTuple):
    """The result of a survey of all examples.

    Attributes:
        num_examples: The number of examples. None if it is not needed.
        columns: The columns for the features, for output formats that need them.
        folder: The plan for an image folder. None for other formats.
    """

    num_examples: int | None
    columns: Sequence[Column] = ()
    folder: FolderPlan | None = None

    def as_json(self) -> list[Any]:
        """Returns the survey as plain data."""
        folder = None if self.folder is None else list(self.folder)
        return [self.num_examples, [list(column) for column in self.columns], folder]

    @staticmethod
    def from_json(data: list[Any]) -> Survey:
        """Returns the survey from a result of `as_json`."""
        num_examples, columns, folder = data
        columns_made = [Column(*column) for column in columns]
        return Survey(num_examples, columns_made, None if folder is None else FolderPlan(*folder))


def checked_names(source: Source, request: Request) -> None:
    """Rejects names of features that the source does not have.

    Raises:
        Failure: If a feature does not exist. The message names the existing ones.
    """
    options_by_name = {name: f"--select {name}" for name in request.select}
    options_by_name |= {old: f"--rename {old}={new}" for new, old in request.rename}
    check_casts(source, request)
    if not options_by_name:
        return
    names = _names(source)
    for name, option in options_by_name.items():
        if name not in names:
            raise Failure(f"{option}: no such feature, expected one of {', '.join(names)}.")


def _names(source: Source) -> list[str]:
    if source.format != Format.TFRECORD:
        extra = ["class"] if source.format == Format.IMAGE_FOLDER else []
        return [*source.pipeline.spec, *extra]
    names: dict[str, None] = {}
    with iter(source.plain.take(_LOOKED_AT)) as examples:
        for example in examples:
            names.update(dict.fromkeys(values_of_record(example["record"]) or ()))
    return list(names)


def surveyed(
    source: Source,
    request: Request,
    make_row: Callable[[dict[str, Any], int], Row],
    interrupts: Interrupts,
) -> Survey:
    """Surveys all examples, as far as the request requires.

    Raises:
        Failure: If the values of a feature have no common type.
        UnwritableError: If the output format cannot hold the examples.
        Interrupted: If a signal arrived.
    """
    if request.to in HAS_COLUMNS:
        schema = _schema(source, make_row, interrupts)
        columns = columns_of(schema, request)
        check_columns(columns, request)
        return Survey(schema.num_examples, columns)
    if request.to == Format.IMAGE_FOLDER:
        schema = _schema(source, make_row, interrupts)
        return Survey(schema.num_examples, folder=folder_plan(schema, request))
    _check_numbers(source, request, interrupts)
    return Survey(_count(source, interrupts) if request.shards else None)


def _check_numbers(source: Source, request: Request, interrupts: Interrupts) -> None:
    """Rejects numbers whose value would change in an `Example`."""
    rules = {name: rule for name, rule in rules_of(source, request).items() if rule != Rule.STR}
    if not rules:
        return
    first_changes: dict[str, tuple[int, Any]] = {}
    begin = 0
    numbers = source.plain.select(*rules).padded_batch(_BATCH)
    with iter(numbers) as batches, Bar("check all numbers", None, " examples") as bar:
        for batch in batches:
            for name in [name for name in rules if name not in first_changes]:
                if (change := first_changed(batch[name], rules[name])) is not None:
                    first_changes[name] = (begin + change[0], change[1])
            if len(first_changes) == len(rules):
                break
            begin += len(next(iter(batch.values())))
            interrupts.check()
            bar.move_to(begin)
    for name, rule in rules.items():
        if name in first_changes:
            number, value = first_changes[name]
            raise Failure(changed(name, value, rule, number, list(first_changes)))


def _schema(
    source: Source, make_row: Callable[[dict[str, Any], int], Row], interrupts: Interrupts
) -> Schema:
    schema = Schema()
    with iter(source.plain) as examples, Bar("examine all examples", None, " examples") as bar:
        for number, example in enumerate(examples):
            schema.add(make_row(example, number))
            interrupts.check()
            bar.advance()
    return schema


def _count(source: Source, interrupts: Interrupts) -> int:
    """Returns the number of examples, without reading them if possible."""
    number = 0
    with iter(_small(source.plain)) as batches, Bar("count", None, " examples") as bar:
        while (batch := batches.next_columns()) is not None:
            num_rows, columns = batch
            number += len(columns["row"]) if "row" in columns else num_rows
            interrupts.check()
            bar.move_to(number)
    return number


@native
def _length(example: dict[str, Any]) -> dict[str, Any]:
    return {"row": ops.string_length(example["row"])}


def _small(plain: Pipeline) -> Pipeline:
    """Returns a pipeline whose examples contain as little data as possible."""
    scalars = {name: spec for name, spec in plain.spec.items() if spec.shape == ()}
    scalars = {name: spec for name, spec in scalars.items() if not spec.is_ragged}
    numbers = [name for name, spec in scalars.items() if not isinstance(spec.dtype, type)]
    if not scalars:
        return plain
    name = (numbers or list(scalars))[0]
    row = plain.select(name) if name == "row" else plain.select(name).rename(**{name: "row"})
    return (row if numbers else row.map(_length)).batch(_BATCH)
