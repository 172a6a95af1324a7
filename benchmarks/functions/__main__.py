"""Measures functions that are called for each example: `python -m benchmarks.functions`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from peers.environments import python_of

from benchmarks.comparison import Contender, Result, Scenario, compare, describe_machine
from benchmarks.pipelines import report
from benchmarks.pipelines.contenders import ROOT, Program
from benchmarks.pipelines.programs import LIMIT
from benchmarks.pipelines.workloads import Workload

NAME = "W13"
ALONE, THREADS, PROCESSES = "alone", "headrace-threads", "headrace-processes"
TIMEOUT = 600.0

TITLES = {
    "holds": "A NumPy function of 200 µs that holds the GIL, results of 150 KB",
    "holds_large": "A NumPy function of 200 µs that holds the GIL, results of 600 KB",
    "releases": "An OpenCV function that releases the GIL, results of 150 KB",
    "releases_large": "An OpenCV function that releases the GIL, results of 600 KB",
}


@dataclass(frozen=True)
class Caller:
    """A program that calls a function for each example.

    Attributes:
        key: Its name on the command line.
        title: Its row in the table.
        module: What is run, of this package.
        environment: A key of `peers.environments.REQUIREMENTS`.
        setting: How it is set up, for the reader of the table.
        arguments: Of the command, after the function and the number of examples.
    """

    key: str
    title: str
    module: str
    environment: str
    setting: str
    arguments: Sequence[str] = ()


CALLERS = [
    Caller(
        LIMIT,
        "limit of the machine",
        "limit",
        "numpy",
        "a loop in a process for each core, results stay there",
    ),
    Caller(ALONE, "a loop by hand", "work", "numpy", "one thread, `np.stack`"),
    Caller("headrace", "headrace", "with_headrace", "numpy", "`map(f)`: one thread"),
    Caller(
        THREADS,
        "headrace, two threads",
        "with_headrace",
        "numpy",
        "`map(f, num_threads=2)`",
        ["num_threads=2"],
    ),
    Caller(
        PROCESSES,
        "headrace, two processes",
        "with_headrace",
        "numpy",
        "`map(f, num_processes=2)`",
        ["num_processes=2"],
    ),
    Caller(
        "torch",
        "PyTorch, two workers",
        "with_torch",
        "torch",
        "`DataLoader(num_workers=2, prefetch_factor=4)`",
    ),
    Caller("grain", "Grain, two workers", "with_grain", "grain", "`mp_prefetch`, two processes"),
    Caller("spdl", "SPDL, two threads", "with_spdl", "spdl", "`pipe(f, concurrency=2)`, in order"),
]


@click.command()
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--count", default=8_000, show_default=True, help="How many examples each makes.")
@click.option(
    "--contenders",
    default="",
    help="Run only programs whose names begin with one of these, with commas between.",
)
def main(rounds: int, count: int, contenders: str) -> None:
    """Measures functions that hold or release the GIL, with results of 150 KB and of 600 KB."""
    print(f"{describe_machine()}; medians of {rounds} rounds in turn.\n", flush=True)
    keys = [key for key in contenders.split(",") if key]
    for workload, rows in measured(rounds, count, keys, list(TITLES)):
        print(table_of(workload, rows), flush=True)


def table_of(workload: Workload, rows: Sequence[report.Row]) -> str:
    """Returns a table; all are compared with the limit, and with our best program."""
    ours = THREADS if workload.task.startswith("releases") else PROCESSES
    return report.table_of(workload, rows, LIMIT, ours)


def measured(
    rounds: int, count: int, prefixes: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[Workload, list[report.Row]]]:
    """Yields what was measured of some functions, keys of `TITLES`."""
    callers = [
        caller
        for caller in CALLERS
        if not prefixes or caller.key in (LIMIT, ALONE) or caller.key.startswith(tuple(prefixes))
    ]
    pythons = {caller.environment: python_of(caller.environment) for caller in callers}
    for function in names:
        workload = Workload(NAME, function, TITLES[function], "examples", count, count)
        there = [caller for caller in callers if pythons[caller.environment] is not None]
        contenders = [
            _contender(caller, pythons[caller.environment] or Path(), function, count)
            for caller in there
        ]
        [results] = compare([Scenario(f"{NAME}, {function}", contenders)], rounds, TIMEOUT)
        found: dict[str, Result] = {
            caller.key: result for caller, result in zip(there, results, strict=True)
        }
        yield (
            workload,
            [report.row_of(_program(caller), found.get(caller.key)) for caller in callers],
        )


def _contender(caller: Caller, python: Path, function: str, count: int) -> Contender:
    def problem_of(figures: dict[str, object]) -> str:
        return "" if figures["count"] == count else f"{figures['count']} results, expected {count}"

    module = f"benchmarks.functions.{caller.module}"
    return Contender(
        name=caller.title,
        command=[python, "-m", module, function, str(count), *caller.arguments],
        is_ours=caller.key == PROCESSES,
        # Only the interpreter of another environment runs our programs, too.
        variables={
            "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        problem_of=problem_of,
    )


def _program(caller: Caller) -> Program:
    return Program(caller.key, caller.title, None, None, [], caller.setting)


if __name__ == "__main__":
    main()
