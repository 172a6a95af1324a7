"""Measures headrace beside other libraries: `python -m benchmarks`."""

from collections.abc import Sequence

import click

from benchmarks.contest import describe_machine
from benchmarks.pipelines import contenders, data, dataset, report, running
from benchmarks.pipelines.workloads import WORKLOADS

NAMES = [workload.name for workload in WORKLOADS]


@click.command()
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=4.0, show_default=True, help="About how long each run lasts.")
@click.option(
    "--contenders",
    "chosen",
    default="",
    help="Run only programs of these names, with commas between.",
)
def main(names: Sequence[str], rounds: int, seconds: float, chosen: str) -> None:
    """Runs the programs of each WORKLOAD in turn, or of all, and compares them."""
    print(f"{describe_machine()}; medians of {rounds} rounds in turn\n", flush=True)
    for workload in WORKLOADS:
        if names and workload.name not in names:
            continue
        data.ensure(dataset.stem_of(workload.task))
        programs = contenders.programs_for(workload, chosen.split(",") if chosen else [])
        results = running.run(workload, programs, rounds, seconds)
        print(report.table_of(workload, results, contenders.PROGRAMS[0].title), flush=True)


if __name__ == "__main__":
    main()
