"""Compares headrace with other libraries: `python -m benchmarks`."""

import sys
from collections.abc import Iterator, Sequence

import click

from benchmarks import queues, runner, startup
from benchmarks.comparison import compare, describe_machine
from benchmarks.comparison import table_of as table_of_scenario
from benchmarks.environments import python_of
from benchmarks.pictures import MissingPhotographsError
from benchmarks.plot import draw
from benchmarks.report import Row, table_of, write
from benchmarks.workload import Workload
from benchmarks.workloads import (
    arrays_in_memory,
    cifar,
    csv_lines,
    digits,
    functions,
    imagenet_photos,
    json_lines,
    mosaics,
    parquet_rows,
    patches,
    photos,
    robot_steps,
    robots,
    sounds,
    tar_photos,
    text_lines,
    token_windows,
    torch_loaders,
    videos,
    worker_processes,
)
from benchmarks.workloads.first_batch import W15

WORKLOADS = [
    *(digits.W1, cifar.W2, cifar.W2_PLAIN, photos.W3, csv_lines.W4, text_lines.W5, digits.W7),
    *(imagenet_photos.W8, token_windows.W9),
    *(parquet_rows.W10, parquet_rows.W10_NUMBERS, parquet_rows.W10_OBJECTS),
    *(json_lines.W11, tar_photos.W12),
    *(functions.HOLDS, functions.HOLDS_LARGE, functions.RELEASES, functions.RELEASES_LARGE),
    *(arrays_in_memory.W14, sounds.W16, patches.W19, mosaics.W20, robots.W21, videos.W22),
    *(worker_processes.PYTHON, worker_processes.NUMPY),
    *(torch_loaders.SMALL, torch_loaders.MEDIUM, torch_loaders.LARGE),
    *(robot_steps.W24, robot_steps.W24_STATES),
]
QUICK = "limit,headrace,alone,numpy,torch,grain,spdl,datasets,polars,pyarrow,webdataset"
"""The programs of a quick run: all except TensorFlow's, which start slowly."""
QUICK_SCALE, QUICK_SECONDS = 0.1, 0.2
SLOW = (functions.HOLDS_LARGE, functions.RELEASES_LARGE)
"""Workloads that a quick run omits."""
QUEUE_SECONDS = 1.0


@click.command()
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=4.0, show_default=True, help="About how long each run lasts.")
@click.option("--scale", default=1.0, show_default=True, help="The part of the data that is read.")
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
    """Runs and compares the programs of each WORKLOAD, or of all workloads.

    Writes tables and a plot to benchmarks/results. On two cores, a complete run takes more than an
    hour, and a run with --quick less than ten minutes. The first run takes a few minutes more, to
    install libraries and create data.
    """
    if quick:
        rounds, seconds, scale = 1, QUICK_SECONDS, QUICK_SCALE
        contenders = contenders or QUICK
    all_names = dict.fromkeys([*(each.name for each in WORKLOADS), queues.NAME, W15.name])
    if unknown := sorted(set(names) - set(all_names)):
        raise click.BadParameter(f"{', '.join(unknown)}: the workloads are {', '.join(all_names)}")
    prefixes = [name for name in contenders.split(",") if name]
    if not any(each.chosen(prefixes) for each in (*WORKLOADS, W15)):
        programs = (program.key for each in (*WORKLOADS, W15) for program in each.programs)
        raise click.BadParameter(
            f"{contenders}: the programs are {', '.join(dict.fromkeys(programs))}"
        )
    machine = f"{describe_machine()}; medians of {rounds} rounds in turn."
    print(f"{machine}\n", flush=True)
    chosen = [each for each in WORKLOADS if not names or each.name in names]
    if quick:
        chosen = [each for each in chosen if each not in SLOW]
    tables, shown = [], []
    for table, workload, rows in measured(chosen, rounds, seconds, scale, prefixes):
        tables.append(table)
        shown.append((workload, rows))
        print(table, flush=True)
    if not names or queues.NAME in names:
        for table in tables_of_queues(rounds, prefixes, min(seconds, QUEUE_SECONDS)):
            tables.append(table)
            print(table, flush=True)
    if not names or W15.name in names:
        for workload, rows in startup.measured(rounds, scale, prefixes):
            tables.append(startup.table_of(workload, rows))
            print(tables[-1], flush=True)
    path = write(machine, tables, shown)
    draw(machine, shown, path.with_suffix(".svg"))
    print(f"written to {path.parent}")


def measured(
    workloads: Sequence[Workload],
    rounds: int,
    seconds: float,
    scale: float,
    prefixes: Sequence[str],
) -> Iterator[tuple[str, Workload, list[Row]]]:
    """Yields the table and the measurements of each workload whose data is available."""
    for each in workloads:
        if not each.chosen(prefixes):
            continue
        has_data = each.make is not None
        workload = each if has_data else runner.with_count(each, int(seconds * each.expected_rate))
        try:
            rows = runner.measured(workload, rounds, seconds, scale, prefixes)
        except MissingPhotographsError as error:
            print(f"{workload.name} is skipped: {error}", file=sys.stderr)
            continue
        yield table_of(workload, rows), workload, rows


def tables_of_queues(rounds: int, prefixes: Sequence[str], seconds: float) -> Iterator[str]:
    """Yields the tables of queue operations. TensorFlow is included only if requested."""
    has_others = not prefixes or "tensorflow".startswith(tuple(prefixes))
    scenarios = list(queues.scenarios_for(python_of("tensorflow") if has_others else None, seconds))
    for scenario, results in zip(scenarios, compare(scenarios, rounds), strict=True):
        yield table_of_scenario(scenario, results)


if __name__ == "__main__":
    main()
