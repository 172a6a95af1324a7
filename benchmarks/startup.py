"""Measures W15: the time from the start of a process to its first batch, in several cases."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks import dataset, process
from benchmarks.comparison import Result, Scenario, compare
from benchmarks.report import Row, rows_of, state_of
from benchmarks.runner import TIMEOUT, contender_of
from benchmarks.workload import Program, Workload
from benchmarks.workloads.first_batch import BATCH_SIZE, CASES, IMPORT, PREPARE, W15


def measured(
    rounds: int, scale: float, prefixes: Sequence[str]
) -> Iterator[tuple[Workload, list[Row]]]:
    """Yields the measurements of each case."""
    home, _ = dataset.ensure(W15, scale)
    programs = [started(program) for program in W15.chosen(prefixes)]
    failures = prepare(programs, str(home))
    for case, title in CASES.items():
        able = [program for program in programs if case in program.options.get("cases", CASES)]
        if not able:
            continue
        size = 0 if case == IMPORT else BATCH_SIZE
        contenders = {
            program.key: contender
            for program in able
            if program.key not in failures
            and (contender := contender_of(W15, program, [case, str(home)], [1, size, size]))
        }
        [results] = compare([Scenario(case, list(contenders.values()))], rounds, TIMEOUT)
        by_key = dict(zip(contenders, results, strict=True)) | failures
        yield replace(W15, task=case, title=title), rows_of(able, by_key, W15.ours)


def started(program: Program) -> Program:
    """Returns a copy of a program whose command runs a single case."""
    return replace(program, command=["-m", W15.module, program.key])


def prepare(programs: Sequence[Program], home: str) -> dict[str, Result]:
    """Lets each program write caches for later starts. Returns the programs that failed."""
    failures = {}
    for program in programs:
        contender = contender_of(W15, program, [PREPARE, home], [])
        if contender is None:
            continue
        run = process.run(contender.command, TIMEOUT, contender.variables)
        if run.failure:
            failures[program.key] = Result(contender, failure=run.failure)
    return failures


def table_of(workload: Workload, rows: Sequence[Row]) -> str:
    """Returns a Markdown table, fastest program first."""
    seconds = {row.key: row.first_batch_seconds for row in rows if row.first_batch_seconds}
    ours = seconds.get("headrace")
    lines = [
        f"### {workload.name}. {workload.title}",
        "",
        "| | first batch, s | this ÷ headrace | CPU s | peak MiB |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in sorted((row for row in rows if row.key in seconds), key=lambda r: seconds[r.key]):
        ratio = f"{seconds[row.key] / ours:.2f}" if ours else ""
        figures = f"{ratio} | {row.cpu_us / 1e6:.2f} | {row.peak_mib:,.0f}"
        lines.append(f"| {row.title} | {seconds[row.key]:.3f} | {figures} |")
    lines += ["", *(f"{row.title} is skipped: {row.failure}." for row in rows if row.failure)]
    return "\n".join([*lines, state_of(rows), ""])
