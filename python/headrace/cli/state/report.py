"""Describes a state in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.cli.state.position import num_batches, position_lines, within_pass
from headrace.cli.wording import count_of, shortened
from headrace.pipeline import Skipped
from headrace.pipeline.run.checkpoints import last_checkpoint

__all__ = ["lines_of_state", "report_of_state"]


def report_of_state(state: dict[str, Any]) -> dict[str, Any]:
    """Returns the report of a valid state as data for `--json`."""
    words, checkpoints = state["stages"], state["place"]
    batches = None
    try:
        checkpoint, num_ended = within_pass(words, last_checkpoint(checkpoints))
        lines = list(
            position_lines(words, checkpoint, digested=state["digest"] and state["digest"][0])
        )
        if num_ended:
            ends = count_of(num_ended, "time")
            lines.append(f"The journal has ended {ends} before. Counts start at its last end.")
        batches = num_batches(words, checkpoint) if words and not num_ended else None
    except (IndexError, KeyError, TypeError, ValueError):
        # The checksum matches, but no pipeline creates such a position. Show the raw numbers.
        lines = [f"No stage can have this position: {shortened(str(checkpoints), 200)}"]
    return {
        "version": state["version"],
        "stages": words,
        "files": [count for count, _ in state["files"]],
        "seeds": state["seeds"],
        "epochs": state["epochs"],
        "weights": state["weights"],
        "epoch": state["epoch"],
        "batches": batches,
        "left_out": state.get("left_out", []),
        "place": lines,
        "skipped": [str(one) for one in _skipped(state["skipped"])],
    }


def _skipped(report: list[Any]) -> Iterator[Skipped]:
    texts, entries, _ = report or [[], [], []]
    for _, _, file, record, offset, stage, reason, num_lost in entries:
        name = None if file is None else texts[file]
        yield Skipped(name, record, offset, texts[stage], reason, num_lost)


def lines_of_state(report: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of a report for people."""
    yield f"This is the state of an iteration over a pipeline (version {report['version']})."
    yield "The pipeline has these stages:"
    yield from _stages(report["stages"], "  ")
    if report["files"]:
        yield _files(report["files"])
    if report["seeds"]:
        yield f"{_counted(report['seeds'], 'Its seed is', 'Its seeds are')}."
    for count in report["epochs"]:
        yield (
            "epochs() has no count, so it repeats the data forever."
            if count is None
            else f"epochs({count}) reads the data {count_of(count, 'time')}."
        )
    for weights in report["weights"]:
        yield f"The weights of mix are {', '.join(map(str, weights))}."
    if report["epoch"]:
        yield f"The iteration was started with epoch({report['epoch']})."
    taken = report["batches"]
    if taken is not None:
        yield (
            f"The program has received {count_of(taken, 'batch', 'batches')}. The next one is "
            f"number {taken:,}, counted from 0."
        )
    for start, end in report["left_out"]:
        yield f"Its run left out steps {start:,} to {end - 1:,}, counted from 0."
    yield "The stages resume at these positions, the last stage first:"
    yield from (f"  {line}" for line in report["place"])
    if report["skipped"]:
        num_skipped = len(report["skipped"])
        yield f"{count_of(num_skipped, 'example was', 'examples were')} skipped:"
        yield from (f"  {shortened(line, 400)}" for line in report["skipped"])


def _files(counts: list[int]) -> str:
    if len(counts) == 1:
        return f"Its source reads {count_of(counts[0], 'file')}."
    return f"Its sources read {', '.join(f'{count:,}' for count in counts)} files, in order."


def _counted(values: list[Any], one: str, several: str) -> str:
    return f"{one if len(values) == 1 else several} {', '.join(map(str, values))}"


def _stages(words: list[Any], indent: str) -> Iterator[str]:
    for stage in words:
        yield f"{indent}{stage if isinstance(stage, str) else stage[0]}"
        if not isinstance(stage, str):
            for number, part in enumerate(stage[1:]):
                yield f"{indent}  part {number}:"
                yield from _stages(part, f"{indent}    ")
