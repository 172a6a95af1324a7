"""What was measured of pipelines, as a table."""

import statistics
from collections.abc import Sequence

from benchmarks.contest import Result
from benchmarks.pipelines.workloads import Workload


def table_of(workload: Workload, results: Sequence[Result], limit: str) -> str:
    """Returns a Markdown table: medians, the fastest first.

    Args:
        workload: What was done.
        results: What was measured.
        limit: The row that the last column compares with.
    """
    measured = sorted((r for r in results if r.rates), key=lambda r: -r.rate)
    top = next((result.rate for result in measured if result.contender.name == limit), None)
    lines = [
        f"### {workload.name}. {workload.title}",
        "",
        f"| | {workload.unit}/s | spread | of limit | CPU µs each | peak MiB | first batch, s |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for result in measured:
        cells = [
            result.contender.name,
            f"{result.rate:,.0f}",
            f"{result.spread:.0%}",
            "" if top is None else _percent(result.rate / top),
            f"{statistics.median(result.cpu_us):.3g}",
            f"{statistics.median(result.peak_mib):,.0f}",
            f"{statistics.median(result.first_batch_seconds):.2f}"
            if result.first_batch_seconds
            else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        f"| {result.contender.name} | failed: {result.failure} | | | | | |"
        for result in results
        if result.failure
    ]
    return "\n".join([*lines, ""])


def _percent(ratio: float) -> str:
    return f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"
