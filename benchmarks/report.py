"""Workload measurements as tables for readers, and as JSON."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from benchmarks import machine_speed
from benchmarks.comparison import Result, text_of_ratios
from benchmarks.workload import BY_HAND, LIMIT, Program, Workload

HOME = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One program's measurements: medians of all rounds.

    Attributes:
        key: The program's key.
        title: The program's title.
        setting: The program's configuration.
        rate: Examples per second.
        spread: The range of the rates, as a fraction of `rate`.
        cpu_us: CPU time per example in microseconds.
        peak_mib: Peak memory of all processes.
        first_batch_seconds: The time from the start of the process. None if it is not reported.
        ratios: Our program's speed relative to this program in each round.
        cpu_ratios: This program's CPU time relative to our program in each round.
        loop_seconds: The times of the fixed loop before and after the runs.
        num_repeated: The number of runs repeated because the machine's speed changed.
        num_unsettled: The number of runs that count even though the speed changed.
        failure: The reason why there are no measurements, if any.
    """

    key: str
    title: str
    setting: str
    rate: float = 0.0
    spread: float = 0.0
    cpu_us: float = 0.0
    peak_mib: float = 0.0
    first_batch_seconds: float | None = None
    ratios: Sequence[float] = ()
    cpu_ratios: Sequence[float] = ()
    loop_seconds: Sequence[float] = ()
    num_repeated: int = 0
    num_unsettled: int = 0
    failure: str = ""

    @property
    def ratio(self) -> float | None:
        """The median of `ratios`."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def cpu_ratio(self) -> float | None:
        """The median of `cpu_ratios`."""
        return statistics.median(self.cpu_ratios) if self.cpu_ratios else None


def rows_of(programs: Sequence[Program], results: Mapping[str, Result], ours: str) -> list[Row]:
    """Returns the rows for programs.

    Args:
        programs: The programs.
        results: The results by key. Programs that could not be installed are missing.
        ours: The key of the program with which the others are compared.
    """
    base = results.get(ours)
    return [row_of(program, results.get(program.key), base) for program in programs]


def row_of(program: Program, result: Result | None, ours: Result | None = None) -> Row:
    """Returns the row for a program.

    Args:
        program: The program.
        result: Its measurements. None if it could not be installed.
        ours: The measurements of the program with which it is compared.
    """
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
        ratios=result.ratios_of(ours) if ours else (),
        cpu_ratios=result.cpu_ratios_of(ours) if ours else (),
        loop_seconds=result.loop_seconds,
        num_repeated=result.num_repeated,
        num_unsettled=result.num_unsettled,
        failure=result.failure,
    )


def table_of(workload: Workload, rows: Sequence[Row]) -> str:
    """Returns a Markdown table, fastest program first.

    All programs are compared with our program and with the limit, or with a hand-written loop if
    the workload has no limit.
    """
    has_limit = any(program.key == LIMIT for program in workload.programs)
    base, base_name = (LIMIT, "limit") if has_limit else (BY_HAND, "by hand")
    rates = {row.key: row.rate for row in rows}
    lines = [
        f"### {workload.name}. {workload.title}",
        "",
        f"| | {workload.unit}/s | spread | of {base_name} | {workload.ours} ÷ this "
        "| in each round | CPU µs each | ÷ ours | in each round | peak MiB | first batch, s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in sorted((row for row in rows if row.rate), key=lambda row: -row.rate):
        cells = [
            row.title,
            f"{row.rate:,.0f}",
            f"{row.spread:.0%}",
            _percent(row.rate / rates[base]) if rates.get(base) else "",
            "" if row.ratio is None else f"{row.ratio:.2g}",
            text_of_ratios(row.ratios),
            f"{row.cpu_us:,.3g}" if row.cpu_us < 100 else f"{row.cpu_us:,.0f}",
            "" if row.cpu_ratio is None else f"{row.cpu_ratio:.2g}",
            text_of_ratios(row.cpu_ratios),
            f"{row.peak_mib:,.0f}",
            "" if row.first_batch_seconds is None else f"{row.first_batch_seconds:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"{row.title} is skipped: {row.failure}." for row in rows if row.failure)]
    return "\n".join([*lines, state_of(rows), ""])


def state_of(rows: Sequence[Row]) -> str:
    """Returns a line about the machine's state while some programs ran."""
    return machine_speed.description(
        chain.from_iterable(row.loop_seconds for row in rows),
        sum(row.num_repeated for row in rows),
        sum(row.num_unsettled for row in rows),
    )


def losses(measured: Sequence[tuple[Workload, Sequence[Row]]]) -> list[str]:
    """Returns a table of the programs that are ahead of ours, farthest ahead first.

    A program is ahead if it is faster or uses less CPU time in the median of the rounds.
    """
    ahead = []
    for workload, rows in measured:
        for row in rows:
            ratios = [ratio for ratio in (row.ratio, row.cpu_ratio) if ratio is not None]
            is_other = not row.key.startswith(("headrace", LIMIT))
            if is_other and ratios and min(ratios) < 1:
                ahead.append((min(ratios), workload, row))
    if not ahead:
        return []
    lines = [
        "### Ahead of headrace",
        "",
        "| work | program | headrace ÷ this | in each round | CPU time of this ÷ ours "
        "| in each round |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for _, workload, row in sorted(ahead, key=lambda each: each[0]):
        cells = [
            f"{workload.name}, {workload.title}",
            row.title,
            "" if row.ratio is None else f"{row.ratio:.2f}",
            text_of_ratios(row.ratios),
            "" if row.cpu_ratio is None else f"{row.cpu_ratio:.2f}",
            text_of_ratios(row.cpu_ratios),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _percent(ratio: float) -> str:
    return f"{ratio:.1%}" if ratio < 0.1 else f"{ratio:.0%}"


def write(
    machine: str, tables: Sequence[str], measured: Sequence[tuple[Workload, Sequence[Row]]]
) -> Path:
    """Writes all tables to one file, losses first, and each workload's rows to another.

    Returns:
        The file with the rows.
    """
    HOME.mkdir(exist_ok=True)
    settings = {row.title: row.setting for _, rows in measured for row in rows if row.rate}
    ending = ["### How the programs are set up", ""]
    ending += [f"- {title}: {setting}." for title, setting in settings.items()]
    beginning = f"# Benchmarks\n\n{machine}\n"
    text = "\n".join([beginning, *losses(measured), *tables, *ending, ""])
    (HOME / "results.md").write_text(text)
    workloads = [
        {"name": workload.name, "title": workload.title, "rows": [asdict(row) for row in rows]}
        for workload, rows in measured
    ]
    path = HOME / "results.json"
    path.write_text(json.dumps({"machine": machine, "workloads": workloads}, indent=1))
    return path
