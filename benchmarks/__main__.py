"""Measures headrace beside other libraries: `python -m benchmarks`."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from peers.environments import python_of

from benchmarks import beside
from benchmarks.arrays_in_memory import __main__ as arrays_in_memory
from benchmarks.comparison import compare, describe_machine, table_of
from benchmarks.first_batch import __main__ as first_batch
from benchmarks.functions import __main__ as functions
from benchmarks.imagenet_photos import __main__ as imagenet_photos
from benchmarks.json_lines import __main__ as json_lines
from benchmarks.parquet_rows import __main__ as parquet_rows
from benchmarks.pipelines import data, dataset, report, running
from benchmarks.pipelines.programs import LIMIT, PROGRAMS, programs_for
from benchmarks.pipelines.workloads import WORKLOADS, Workload
from benchmarks.queues.__main__ import scenarios_for
from benchmarks.sounds import __main__ as sounds
from benchmarks.tar_photos import __main__ as tar_photos
from benchmarks.token_windows import __main__ as token_windows

OURS = "headrace"
KINDS = [
    module.KIND
    for module in (
        *(imagenet_photos, token_windows, parquet_rows, json_lines),
        *(tar_photos, arrays_in_memory, sounds),
    )
]
"""The work whose programs have a folder of their own each."""
QUICK = "limit,headrace,alone,numpy,torch,grain,spdl,datasets,polars,pyarrow,webdataset"
"""The programs of a quick look: all but TensorFlow's, which start slowly."""
QUICK_SCALE, QUICK_SECONDS = 0.1, 0.2
QUICK_FUNCTIONS = ["holds", "releases"]
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
@click.option("--scale", default=1.0, show_default=True, help="The part of the data, from W8 on.")
@click.option(
    "--contenders",
    default="",
    help="Run only programs whose names begin with one of these, with commas between.",
)
@click.option(
    "--quick", is_flag=True, help="One short round of a tenth of the data, without TensorFlow."
)
def main(
    names: Sequence[str], rounds: int, seconds: float, scale: float, contenders: str, quick: bool
) -> None:
    """Runs the programs of each WORKLOAD in turn, or of all, and compares them.

    Writes tables and a plot to benchmarks/results. All of it takes more than an hour, with --quick
    less than ten minutes on two cores, and some minutes more the first time, when libraries are
    installed and data are made.
    """
    if quick:
        rounds, seconds, scale = 1, QUICK_SECONDS, QUICK_SCALE
        contenders = contenders or QUICK
    kinds = [kind.name for kind in (*KINDS, first_batch.KIND)]
    known = [*(workload.name for workload in WORKLOADS), QUEUES, functions.NAME, *kinds]
    if unknown := sorted(set(names) - set(known)):
        raise click.BadParameter(f"{', '.join(unknown)}: the workloads are {', '.join(known)}")
    prefixes = [name for name in contenders.split(",") if name]
    peers = [peer for kind in (*KINDS, first_batch.KIND) for peer in kind.peers]
    programs = [*PROGRAMS, *functions.CALLERS, *peers]
    if contenders and not any(program.key.startswith(tuple(prefixes)) for program in programs):
        keys = ", ".join(dict.fromkeys(program.key for program in programs))
        raise click.BadParameter(f"{contenders}: the programs are {keys}")
    machine = f"{describe_machine()}; medians of {rounds} rounds in turn."
    print(f"{machine}\n", flush=True)
    tables, measured = [], []
    chosen = [each for each in WORKLOADS if not names or each.name in names]
    for workload, rows in rows_of_pipelines(chosen, rounds, seconds, prefixes):
        measured.append((workload, rows))
        tables.append(report.table_of(workload, rows, LIMIT, OURS))
        print(tables[-1], flush=True)
    if not names or QUEUES in names:
        for table in tables_of_queues(rounds, prefixes, min(seconds, QUEUE_SECONDS)):
            tables.append(table)
            print(table, flush=True)
    if not names or functions.NAME in names:
        count = int(seconds * FUNCTION_RATE)
        chosen_functions = QUICK_FUNCTIONS if quick else list(functions.TITLES)
        for workload, rows in functions.measured(rounds, count, prefixes, chosen_functions):
            tables.append(functions.table_of(workload, rows))
            print(tables[-1], flush=True)
    wanted = [kind for kind in KINDS if beside.chosen(kind.peers, prefixes)]
    for kind in [kind for kind in wanted if not names or kind.name in names]:
        workload, rows = beside.measured(kind, rounds, scale, prefixes)
        measured.append((workload, rows))
        tables.append(beside.table_of(kind, workload, rows))
        print(tables[-1], flush=True)
    if not names or first_batch.KIND.name in names:
        for workload, rows in first_batch.measured(rounds, scale, prefixes):
            tables.append(first_batch.table_of(workload, rows))
            print(tables[-1], flush=True)
    path = report.write(machine, tables, measured)
    plotter = python_of("plot")
    if plotter is not None:
        subprocess.run([plotter, PLOT, path], check=True)
    print(f"written to {path.parent}")


def rows_of_pipelines(
    workloads: Sequence[Workload], rounds: int, seconds: float, prefixes: Sequence[str]
) -> Iterator[tuple[Workload, list[report.Row]]]:
    """Yields what was measured of each workload whose data can be had."""
    for workload in workloads:
        try:
            data.ensure(dataset.stem_of(workload.task))
        except data.MissingSourceError as error:
            print(f"{workload.name} is skipped: {error}", file=sys.stderr)
            continue
        programs = programs_for(workload, prefixes)
        results = running.run(workload, programs, rounds, seconds)
        yield workload, [report.row_of(*pair) for pair in zip(programs, results, strict=True)]


def tables_of_queues(rounds: int, prefixes: Sequence[str], seconds: float) -> Iterator[str]:
    """Yields the tables of queue operations, without TensorFlow if it was not asked for."""
    has_peers = not prefixes or "tensorflow".startswith(tuple(prefixes))
    scenarios = list(scenarios_for(python_of("tensorflow") if has_peers else None, seconds))
    for scenario, results in zip(scenarios, compare(scenarios, rounds), strict=True):
        yield table_of(scenario, results)


if __name__ == "__main__":
    main()
