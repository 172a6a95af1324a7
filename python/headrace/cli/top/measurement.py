"""The measurements that ``headrace top`` shows, as differences between reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from headrace.cli.wording import count_of, shortened, size, table
from headrace.pipeline.run.live_report import IterationReport, counted, share

__all__ = ["Measurements", "lines_of"]

_BAR_LETTERS: Final = 10
_MOST_LETTERS: Final = 60


class Measurements:
    """The last two reports of each process.

    Attributes:
        reports: The last reports.
    """

    def __init__(self) -> None:
        self.reports: Sequence[Mapping[str, Any]] = ()
        self._earlier: dict[tuple[int, int], Mapping[str, Any]] = {}

    def add(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Adds new reports of all processes."""
        self._earlier = {
            (report["process"], one["number"]): one
            for report in self.reports
            for one in report["iterations"]
        }
        self.reports = reports

    def earlier(self, process: int, iteration: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the previous report of an iteration, or None if the iteration is new."""
        return self._earlier.get((process, iteration["number"]))


def lines_of(measurements: Measurements) -> Iterator[str]:
    """Yields lines of text for all processes."""
    if not any(report["iterations"] for report in measurements.reports):
        yield "No pipeline is running."
    for report in measurements.reports:
        for iteration in report["iterations"]:
            earlier = measurements.earlier(report["process"], iteration)
            yield from _lines(report, iteration, earlier)


def _lines(
    report: Mapping[str, Any], now: Mapping[str, Any], earlier: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yields the lines of an iteration. Rates are since the earlier report, if there is one."""
    command = shortened(" ".join(report["command"]), _MOST_LETTERS)
    yield f"process {report['process']}: {command}"
    yield f"{shortened(now['name'], _MOST_LETTERS)}, epoch {now['epoch']}"

    def change(key: str) -> float:
        return float(now[key] - (earlier[key] if earlier else 0))

    seconds = max(change("seconds"), 1e-9)
    received = counted(cast("IterationReport", now))
    yield (
        f"{change('count') / seconds:,.1f} {now['unit']}/s, {received} in "
        f"{now['seconds']:.0f} s, the loop waited "
        f"{share(change('waiting_seconds'), seconds):.0%} of the time"
    )
    yield (
        f"memory {size(now['memory_bytes'])} of {size(now['memory_limit_bytes'])}, "
        f"{count_of(now['skipped'], 'example')} skipped"
    )
    before = earlier["stages"] if earlier and earlier["stages"] else [{}] * len(now["stages"])
    rows = [("stage", "busy", "", "examples/s", "output/s")]
    for stage, old in zip(now["stages"], before, strict=True):
        busy_seconds = stage["busy_seconds"] - old.get("busy_seconds", 0)
        busy = share(busy_seconds, seconds * stage["parallel"])
        examples = (stage["examples"] - old.get("examples", 0)) / seconds
        num_bytes = (stage["bytes"] - old.get("bytes", 0)) / seconds
        filled = "#" * round(busy * _BAR_LETTERS)
        rows.append(
            (
                shortened(stage["name"], _MOST_LETTERS),
                f"[{filled:<{_BAR_LETTERS}}]",
                f"{busy:.0%}",
                f"{examples:,.1f}",
                size(num_bytes) if num_bytes else "",
            )
        )
    yield from table(rows, "  ")
    yield ""
