"""The measurements of workloads as tables for a reader, and as JSON."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.comparison import Result
from benchmarks.workload import BY_HAND, LIMIT, Program, Workload

HOME = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """The measurements of one program: medians of all rounds.

    Attributes:
        key: Of the program.
        title: Of the program.
        setting: How it was set up.
        rate: Examples a second.
        spread: How far the rates are apart, as a part of `rate`.
        cpu_us: Microseconds of processor time an example.
        peak_mib: Memory, of all processes.
        first_batch_seconds: From the start of the process; None if it does not say.
        failure: Why there is nothing, if so.
    """

    key: str
    title: str
    setting: str
    rate: float = 0.0
    spread: float = 0.0
    cpu_us: float = 0.0
    peak_mib: float = 0.0
    first_batch_seconds: float | None = None
    failure: str = ""


def row_of(program: Program, result: Result | None) -> Row:
    """Returns the row of a program; `result` is None if it could not be installed."""
    if result is None or not result.rates:
        failure = "could not be installed" if result is None else result.failure
        return Row(program.key, program.title, program.setting, failure=failure)
    first = result.first_batch_seconds
    return Row(
        program.key,
        program.title,
        program.setting,
        rate=result.rate,
        spread=result.spread,
        cpu_us=statistics.median(result.cpu_us),
        peak_mib=statistics.median(result.peak_mib),
        first_batch_seconds=statistics.median(first) if first else None,
        failure=result.failure,
    )


def table_of(workload: Workload, rows: Sequence[Row]) -> str:
    """Returns a Markdown table, the fastest first.

    All are compared with the limit, or with a loop by hand if the workload has no limit, and with
    our program.
    """
    has_limit = any(program.key == LIMIT for program in workload.programs)
    base, base_name = (LIMIT, "limit") if has_limit else (BY_HAND, "by hand")
    rates = {row.key: row.rate for row in rows}
    ours = rates.get(workload.ours)
    lines = [
        f"### {workload.name}. {workload.title}",
        "",
        f"| | {workload.unit}/s | spread | of {base_name} | {workload.ours} ÷ this "
        "| CPU µs each | peak MiB | first batch, s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in sorted((row for row in rows if row.rate), key=lambda row: -row.rate):
        cells = [
            row.title,
            f"{row.rate:,.0f}",
            f"{row.spread:.0%}",
            _percent(row.rate / rates[base]) if rates.get(base) else "",
            f"{ours / row.rate:.2g}" if ours else "",
            f"{row.cpu_us:,.3g}" if row.cpu_us < 100 else f"{row.cpu_us:,.0f}",
            f"{row.peak_mib:,.0f}",
            "" if row.first_batch_seconds is None else f"{row.first_batch_seconds:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"{row.title} is skipped: {row.failure}." for row in rows if row.failure)]
    return "\n".join([*lines, ""])


def _percent(ratio: float) -> str:
    return f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"


def write(
    machine: str, tables: Sequence[str], measured: Sequence[tuple[Workload, Sequence[Row]]]
) -> Path:
    """Writes all tables into one file, and the rows of each workload into another.

    Returns:
        The file of rows.
    """
    HOME.mkdir(exist_ok=True)
    settings = {row.title: row.setting for _, rows in measured for row in rows if row.rate}
    ending = ["### How the programs are set up", ""]
    ending += [f"- {title}: {setting}." for title, setting in settings.items()]
    text = "\n".join([f"# Benchmarks\n\n{machine}\n", *tables, *ending, ""])
    (HOME / "results.md").write_text(text)
    workloads = [
        {"name": workload.name, "title": workload.title, "rows": [asdict(row) for row in rows]}
        for workload, rows in measured
    ]
    path = HOME / "results.json"
    path.write_text(json.dumps({"machine": machine, "workloads": workloads}, indent=1))
    return path
