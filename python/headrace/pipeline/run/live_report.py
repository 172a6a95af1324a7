"""A report about a running iteration, as plain data and as HTML."""

from typing import TypedDict

from headrace.core.html import Html, bar, fragment, num_bytes, table, tag
from headrace.pipeline.run.statistics import Readings

__all__ = ["IterationReport", "StageReport", "counted", "html_of", "share", "stage_reports"]


class StageReport(TypedDict):
    """A stage's part of a report.

    Attributes:
        name: The stage and its function.
        examples: The number of examples or batches that the stage has returned.
        bytes: The number of bytes that the stage has produced.
        busy: The share of the time that the stage's tasks ran, averaged over the threads that may
            run them, from 0 to 1.
        busy_seconds: The total run time of the stage's tasks.
        parallel: The number of threads that may run the stage's tasks.
        fill: See `StageStatistics.fill`.
    """

    name: str
    examples: int
    bytes: int
    busy: float
    busy_seconds: float
    parallel: int
    fill: float | None


class IterationReport(TypedDict):
    """A report that JSON can represent.

    Attributes:
        number: A number that identifies it among the open iterations of the process.
        name: The names of the stages.
        epoch: The number of the epoch.
        unit: "batches" or "examples".
        count: The number of batches or examples that the loop has received.
        seconds: The time since the iteration started, or its duration if it has ended.
        waiting_seconds: How long the loop has waited for batches.
        is_open: Whether the iteration is open.
        skipped: The number of skipped examples.
        memory_bytes: The memory in use that counts towards the limit.
        memory_limit_bytes: The limit.
        stages: The stages.
    """

    number: int
    name: str
    epoch: int
    unit: str
    count: int
    seconds: float
    waiting_seconds: float
    is_open: bool
    skipped: int
    memory_bytes: float
    memory_limit_bytes: int
    stages: list[StageReport]


def stage_reports(readings: Readings) -> list[StageReport]:
    """Returns the reports of an iteration's stages."""
    reports = []
    for stage in readings.stages:
        parallel = stage.counted.num_parallel or readings.num_threads
        reports.append(
            StageReport(
                name=stage.name,
                examples=stage.examples,
                bytes=stage.num_bytes,
                busy=share(stage.busy, readings.seconds * parallel),
                busy_seconds=stage.busy,
                parallel=parallel,
                fill=stage.fill,
            )
        )
    return reports


def html_of(report: IterationReport) -> str:
    """Returns a report as a table with a bar for each stage."""
    seconds = max(report["seconds"], 1e-9)
    rate = report["count"] / seconds
    notes = [
        f"epoch {report['epoch']}",
        f"{counted(report)} in {seconds:.1f} s ({rate:.4g}/s)",
        f"the loop waited {share(report['waiting_seconds'], seconds):.0%} of the time",
        f"{num_bytes(report['memory_bytes'])} of {num_bytes(report['memory_limit_bytes'])} in use",
    ]
    if report["skipped"]:
        notes.append(f"{report['skipped']:,} examples skipped")
    if not report["is_open"]:
        notes.append("ended")
    rows = [
        (
            tag("code", stage["name"]),
            bar(stage["busy"]),
            f"{stage['examples']:,}",
            num_bytes(stage["bytes"]) if stage["bytes"] else "",
            "" if stage["fill"] is None else f"{stage['fill']:.0%}",
        )
        for stage in report["stages"]
    ]
    header = ("stage", "busy", "examples", "output", "full")
    return fragment(
        tag("code", report["name"]),
        tag("div", tag("small", ", ".join(notes))),
        table(header, rows) if rows else Html(""),
    )


def counted(report: IterationReport) -> str:
    """Returns how much the loop has received, such as "1 batch" or "1,234 examples"."""
    one = {"batches": "batch", "examples": "example"}[report["unit"]]
    return f"{report['count']:,} {one if report['count'] == 1 else report['unit']}"


def share(part: float, total: float) -> float:
    """Returns a share from 0 to 1."""
    return min(max(part / total, 0.0), 1.0) if total > 0 else 0.0
