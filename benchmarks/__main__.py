"""Measures headrace beside other libraries: `python -m benchmarks`."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from peers.environments import python_of

from benchmarks.comparison import compare, describe_machine, table_of
from benchmarks.functions import __main__ as functions
from benchmarks.pipelines import data, dataset, report, running
from benchmarks.pipelines.programs import LIMIT, PROGRAMS, programs_for
from benchmarks.pipelines.workloads import WORKLOADS
from benchmarks.queues.__main__ import scenarios_for

OURS = "headrace"
QUEUE_SECONDS = 1.0
FUNCTION_RATE = 2_000
"""About how many examples a second programs of W13 make."""
QUEUES = "W6"
"""The workload that is no pipeline: single operations of queues."""
PLOT = Path(__file__).parent / "pipelines" / "plot.py"


@click.command()
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=4.0, show_default=True, help="About how long each run lasts.")
@click.option(
    "--contenders",
    default="",
    help="Run only programs whose names begin with one of these, with commas between.",
)
def main(names: Sequence[str], rounds: int, seconds: float, contenders: str) -> None:
    """Runs the programs of each WORKLOAD in turn, or of all, and compares them.

    Writes tables and a plot to benchmarks/results. All of it takes about an hour, and some minutes
    more the first time, when libraries are installed and data are made.
    """
    known = [*(workload.name for workload in WORKLOADS), QUEUES, functions.NAME]
    if unknown := sorted(set(names) - set(known)):
        raise click.BadParameter(f"{', '.join(unknown)}: the workloads are {', '.join(known)}")
    prefixes = [name for name in contenders.split(",") if name]
    if contenders and not any(p.key.startswith(tuple(prefixes)) for p in PROGRAMS):
        keys = ", ".join(dict.fromkeys(program.key for program in PROGRAMS))
        raise click.BadParameter(f"{contenders}: the programs are {keys}")
    machine = f"{describe_machine()}; medians of {rounds} rounds in turn."
    print(f"{machine}\n", flush=True)
    tables, measured = [], []
    for workload in WORKLOADS:
        if names and workload.name not in names:
            continue
        try:
            data.ensure(dataset.stem_of(workload.task))
        except data.MissingSourceError as error:
            print(f"{workload.name} is left out: {error}", file=sys.stderr)
            continue
        programs = programs_for(workload, prefixes)
        results = running.run(workload, programs, rounds, seconds)
        rows = [report.row_of(*pair) for pair in zip(programs, results, strict=True)]
        measured.append((workload, rows))
        tables.append(report.table_of(workload, rows, LIMIT, OURS))
        print(tables[-1], flush=True)
    if not names or QUEUES in names:
        for table in tables_of_queues(rounds, prefixes):
            tables.append(table)
            print(table, flush=True)
    if not names or functions.NAME in names:
        for workload, rows in functions.measured(rounds, int(seconds * FUNCTION_RATE), prefixes):
            tables.append(functions.table_of(workload, rows))
            print(tables[-1], flush=True)
    path = report.write(machine, tables, measured)
    plotter = python_of("plot")
    if plotter is not None:
        subprocess.run([plotter, PLOT, path], check=True)
    print(f"written to {path.parent}")


def tables_of_queues(rounds: int, prefixes: Sequence[str]) -> Iterator[str]:
    """Yields the tables of queue operations, without TensorFlow if it was not asked for."""
    has_peers = not prefixes or "tensorflow".startswith(tuple(prefixes))
    scenarios = list(scenarios_for(python_of("tensorflow") if has_peers else None, QUEUE_SECONDS))
    for scenario, results in zip(scenarios, compare(scenarios, rounds), strict=True):
        yield table_of(scenario, results)


if __name__ == "__main__":
    main()
