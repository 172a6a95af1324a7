"""Measures threads, capacities, a slow disk and a busy consumer: `python -m benchmarks.scaling`."""

from collections.abc import Sequence

import click

from benchmarks.comparison import describe_machine
from benchmarks.scaling.report import table_of, write
from benchmarks.scaling.series import SERIES


@click.command()
@click.argument("names", nargs=-1, metavar="[SERIES]...", type=click.Choice(list(SERIES)))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=2.0, show_default=True, help="About how long each run lasts.")
def main(names: Sequence[str], rounds: int, seconds: float) -> None:
    """Measures how cost changes with each SERIES, or with all of them.

    They are: threads that share a reader, readers with a thread each, the capacity of the queue, a
    slow disk's readers, and a consumer that holds the GIL. Writes benchmarks/results/scaling.md.
    """
    machine = f"{describe_machine()}; medians of {rounds} rounds in turn."
    print(f"{machine}\n", flush=True)
    tables = []
    for name in names or SERIES:
        for series in SERIES[name](rounds, seconds):
            tables.append(table_of(series))
            print(tables[-1], flush=True)
    print(f"written to {write(machine, tables)}")


if __name__ == "__main__":
    main()
