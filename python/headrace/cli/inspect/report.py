"""Parts shared by the reports on several kinds of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.cli.file_kinds import Content
from headrace.cli.file_pipelines import counted
from headrace.core.repr_prefix import printable
from headrace.pipeline import Skipped
from headrace.pipeline.writing.values import Values

__all__ = ["InspectOptions", "ShownExample", "counts", "damage_of", "damage_of_whole_file"]


class InspectOptions(NamedTuple):
    """Options for an inspection.

    Attributes:
        num_records: The number of records used to infer the features.
        num_examples: The number of examples to show.
        is_bar_shown: Whether to show a progress bar on a terminal.
        is_quick: Whether to read only those `num_records` records.
    """

    num_records: int
    num_examples: int
    is_bar_shown: bool
    is_quick: bool = False


class ShownExample(NamedTuple):
    """An example to show.

    Attributes:
        number: The number of the example's record.
        values: The example's features.
    """

    number: int
    values: Mapping[str, Values]


def counts(content: Content, looked: InspectOptions, what: str) -> dict[str, Any]:
    """Returns the report entries for all records. Empty with `--quick`.

    Args:
        content: The file.
        looked: The inspection options.
        what: The term for a record: "records", "lines".
    """
    if looked.is_quick:
        return {"unit": what, "count": None, "damage": []}
    count = counted(content, looked.is_bar_shown)
    report: dict[str, Any] = {"unit": what, "count": count.num_records}
    if count.num_bytes is not None:
        report["bytes"] = {
            "total": count.num_bytes,
            "least": count.least_bytes,
            "most": count.most_bytes,
        }
    report["damage"] = damage_of(count.damage)
    return report


def damage_of(skipped: list[Skipped]) -> list[dict[str, Any]]:
    """Returns the damage as data for `--json`."""
    return [
        {
            "record": one.record_number,
            "offset_bytes": one.offset_bytes,
            "stage": one.stage,
            "reason": _without_path(one),
        }
        for one in skipped
    ]


def _without_path(one: Skipped) -> str:
    first, *_ = one.reason.splitlines()
    return first.removeprefix(f"{printable(one.file or '')}: ")


def damage_of_whole_file(stage: str, reason: str) -> dict[str, Any]:
    """Returns the entry for damage that affects a whole file."""
    return {"record": None, "offset_bytes": None, "stage": stage, "reason": reason}
