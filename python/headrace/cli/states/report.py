"""What a state means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.cli.states.place import num_batches, place_lines
from headrace.cli.wording import count_of, shortened
from headrace.pipeline import Skipped
from headrace.pipeline.marks import last_mark

__all__ = ["lines_of_state", "report_of_state"]


def report_of_state(state: dict[str, Any]) -> dict[str, Any]:
    """Returns what a whole state means, as the document of `--json` has it."""
    words, place = state["stages"], state["place"]
    batches = None
    try:
        mark = last_mark(place)
        lines = list(place_lines(words, mark))
        batches = num_batches(words, mark) if words else None
    except (IndexError, KeyError, TypeError, ValueError):
        # Its checksum is right, but no pipeline has made it: the raw numbers have to do.
        lines = [f"a place that no stage has: {shortened(str(place), 200)}"]
    return {
        "version": state["version"],
        "stages": words,
        "files": [count for count, _ in state["files"]],
        "seeds": state["seeds"],
        "epochs": state["epochs"],
        "weights": state["weights"],
        "epoch": state["epoch"],
        "batches": batches,
        "place": lines,
        "skipped": [str(one) for one in _skipped(state["skipped"])],
    }


def _skipped(report: list[Any]) -> Iterator[Skipped]:
    texts, entries, _ = report or [[], [], []]
    for _, _, file, record, offset, stage, reason in entries:
        name = None if file is None else texts[file]
        yield Skipped(name, record, offset, texts[stage], reason)


def lines_of_state(report: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of a report, for people."""
    yield f"the state of an iteration, version {report['version']}"
    yield "of the pipeline:"
    yield from _stages(report["stages"], "  ")
    if report["files"]:
        yield f"files of its sources: {', '.join(map(str, report['files']))}"
    for key, what in (("seeds", "seeds"), ("epochs", "numbers of epochs"), ("weights", "weights")):
        if report[key]:
            yield f"{what}: {', '.join(map(str, report[key]))}"
    if report["epoch"]:
        yield f"epoch: {report['epoch']}, as epoch(...) counts"
    taken = report["batches"]
    if taken is not None:
        yield f"batches taken: {taken:,}; it goes on with batch {taken:,}, counted from 0"
    yield "place, from the last stage to the source:"
    yield from (f"  {line}" for line in report["place"])
    if report["skipped"]:
        yield f"{count_of(len(report['skipped']), 'example')} left out:"
        yield from (f"  {shortened(line, 400)}" for line in report["skipped"])


def _stages(words: list[Any], indent: str) -> Iterator[str]:
    for stage in words:
        yield f"{indent}{stage if isinstance(stage, str) else stage[0]}"
        if not isinstance(stage, str):
            for number, part in enumerate(stage[1:]):
                yield f"{indent}  part {number}:"
                yield from _stages(part, f"{indent}    ")
