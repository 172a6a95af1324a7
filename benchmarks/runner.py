"""Runs a workload's programs in turn, each with a few seconds of work."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import dataset
from benchmarks.comparison import Contender, Result, Scenario, compare, measure
from benchmarks.environments import python_of
from benchmarks.report import Row, rows_of
from benchmarks.workload import NO_GPU, ROOT, Part, Program, Workload

TIMEOUT = 900.0

_python_of = cache(python_of)


def measured(
    workload: Workload, rounds: int, seconds: float, scale: float, prefixes: Sequence[str]
) -> list[Row]:
    """Runs a workload's programs in turn, and returns the measurements.

    Args:
        workload: The workload.
        rounds: The number of runs of each program.
        seconds: The approximate duration of each run, if the workload does not fix the amount of
            data.
        scale: The fraction of the data to read.
        prefixes: Only run programs whose keys begin with one of these. If empty, run all programs.
    """
    programs = workload.chosen(prefixes)
    if workload.num_epochs is None:
        results = sized(workload, programs, rounds, seconds, scale)
    elif workload.make is None:
        results = repeated(workload, programs, rounds, Path(workload.task), [workload.count])
    else:
        home, [part] = dataset.ensure(workload, scale)
        expected = [number * workload.num_epochs for number in (part.count, *part.sums)]
        results = repeated(workload, programs, rounds, home, expected)
    return rows_of(programs, results, workload.ours)


def repeated(
    workload: Workload,
    programs: Sequence[Program],
    rounds: int,
    source: Path | str,
    expected: Sequence[int],
) -> dict[str, Result]:
    """Returns the results of the installable programs. All of them read the same amount."""
    arguments = [str(workload.num_epochs), str(source)]
    contenders = {
        program.key: contender
        for program in programs
        if (contender := contender_of(workload, program, arguments, expected)) is not None
    }
    [results] = compare([Scenario(workload.name, list(contenders.values()))], rounds, TIMEOUT)
    return dict(zip(contenders, results, strict=True))


def sized(
    workload: Workload, programs: Sequence[Program], rounds: int, seconds: float, scale: float = 1.0
) -> dict[str, Result]:
    """Returns the results of the installable programs. Each reads for a few seconds.

    With one round, the trial that determines the amount of work is also the measurement.
    """
    home, parts = dataset.ensure(workload, scale)
    trials = {
        program.key: trial
        for program in tqdm(programs, f"{workload.name}, trials", leave=False, disable=None)
        if (trial := _trial(workload, program, home, parts, seconds)) is not None
    }
    if rounds == 1:
        return trials
    fit = {key: trial for key, trial in trials.items() if not trial.failure}
    scenario = Scenario(workload.name, [trial.contender for trial in fit.values()])
    [results] = compare([scenario], rounds, TIMEOUT)
    return trials | dict(zip(fit, results, strict=True))


def _trial(
    workload: Workload, program: Program, home: Path, parts: Sequence[Part], seconds: float
) -> Result | None:
    """A program with about `seconds` of work, determined by trial."""
    num_parts = workload.num_parts or workload.min_parts
    while True:
        chosen = dataset.select(home, parts, num_parts)
        arguments = [str(chosen.num_epochs), *chosen.files]
        expected = [chosen.count, *chosen.sums]
        contender = contender_of(workload, program, arguments, expected)
        if contender is None:
            return None
        trial = Result(contender)
        measure(trial, (), TIMEOUT)
        if trial.failure or workload.num_parts is not None or trial.seconds[0] > 0.5 * seconds:
            return trial
        # A short trial mostly measures the program's start, so the step size is limited.
        factor = min(0.9 * seconds / trial.seconds[0], 20.0)
        needed = math.ceil(num_parts * factor)
        num_parts = needed if needed < len(parts) else math.ceil(needed / len(parts)) * len(parts)


def contender_of(
    workload: Workload, program: Program, arguments: Sequence[str], expected: Sequence[int]
) -> Contender | None:
    """Returns the contender for a program, or None if it can't be installed.

    Args:
        workload: The workload.
        program: The program.
        arguments: The number of passes, and the paths to read.
        expected: The expected number of examples, and the sums over them.
    """
    if program.native:
        command: list[str | Path] = [build_limits(), program.native]
    else:
        python = Path(sys.executable)
        if program.environment is not None:
            other = _python_of(program.environment)
            if other is None:
                return None
            python = other
        module = workload.module.rpartition(".")[2]
        ours = ("-m", "benchmarks.measure", module, workload.task, program.key)
        command = [python, *(program.command or ours)]
    return Contender(
        name=program.title,
        command=[*command, *arguments],
        is_ours=program.key == workload.ours,
        variables={
            "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
            "HF_HUB_OFFLINE": "1",
            **NO_GPU,
            **workload.variables,
        },
        problem_of=_checker(workload, expected),
    )


def _checker(workload: Workload, expected: Sequence[int]) -> Callable[[dict[str, Any]], str]:
    def problem_of(figures: dict[str, Any]) -> str:
        return workload.difference(expected, [figures["count"], *figures["sums"]])

    return problem_of


def with_count(workload: Workload, count: int) -> Workload:
    """Returns a selection without data that produces a number of examples."""
    return replace(workload, count=count, num_epochs=count)


@cache
def build_limits() -> Path:
    """Builds the native loops for this CPU, and returns the program's path."""
    target = ROOT / "target" / "limits"
    command = ["cargo", "build", "--quiet", "--release", "--package", "headrace-limits"]
    flags = {"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": str(target)}
    # cmake may come from the virtual environment.
    path = os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])
    subprocess.run(command, cwd=ROOT, env={**os.environ, **flags, "PATH": path}, check=True)
    return target / "release" / "headrace-limits"
