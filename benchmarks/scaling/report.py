"""The measurements of scaling, as tables for a reader."""

import statistics
from pathlib import Path

from benchmarks.comparison import Result
from benchmarks.pipelines.report import HOME
from benchmarks.scaling.series import Series


def table_of(series: Series) -> str:
    """Returns a Markdown table: medians, and how they compare with the first."""
    lines = [
        f"### {series.title}",
        "",
        f"| {series.column} | {series.unit}/s | spread | ÷ first | CPU µs each | ÷ first |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    first = next((result for result in series.results if result.rates), None)
    for result in series.results:
        name = result.contender.name
        if first is None or not result.rates:
            lines.append(f"| {name} | failed: {result.failure} | | | | |")
            continue
        cpu_us, first_cpu_us = _cpu_us(result), _cpu_us(first)
        cells = [
            name,
            f"{result.rate:,.0f}",
            f"{result.spread:.0%}",
            f"{result.rate / first.rate:.2f}",
            f"{cpu_us:.3g}",
            f"{cpu_us / first_cpu_us:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cpu_us(result: Result) -> float:
    return statistics.median(result.cpu_us)


def write(machine: str, tables: list[str]) -> Path:
    """Writes all tables into one file, beside those of the other benchmarks."""
    HOME.mkdir(exist_ok=True)
    path = HOME / "scaling.md"
    path.write_text("\n".join([f"# Scaling\n\n{machine}\n", *tables]))
    return path
