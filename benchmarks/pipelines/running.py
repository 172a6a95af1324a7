"""Runs the programs of a workload in turn, each with as much work as it does in a few seconds."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import comparison
from benchmarks.pipelines import checksums, dataset
from benchmarks.pipelines.contenders import Program, command_of
from benchmarks.pipelines.workloads import Workload

TIMEOUT = 600.0


def run(
    workload: Workload, programs: Sequence[Program], rounds: int, seconds: float
) -> list[comparison.Result | None]:
    """Measures programs.

    Args:
        workload: What they do.
        programs: Who does it.
        rounds: How often each runs, in turn. With one, the trial that found out how much work is
            enough is the measurement, too.
        seconds: About how long each run should last.

    Returns:
        What was measured of each program; None if it cannot be installed.
    """
    commands = [command_of(program, workload.task) for program in programs]
    pairs = zip(programs, commands, strict=True)
    trials = [
        None if command is None else _sized(workload, program, command, seconds)
        for program, command in tqdm(
            list(pairs), f"{workload.name}, trials", leave=False, disable=None
        )
    ]
    if rounds == 1:
        return trials
    fit = [trial for trial in trials if trial is not None and not trial.failure]
    scenario = comparison.Scenario(workload.name, [trial.contender for trial in fit])
    [measured] = comparison.compare([scenario], rounds, TIMEOUT)
    results = {id(trial): result for trial, result in zip(fit, measured, strict=True)}
    return [results.get(id(trial), trial) for trial in trials]


def _sized(
    workload: Workload, program: Program, command: Sequence[str | Path], seconds: float
) -> comparison.Result:
    """The program with as much work as takes it about `seconds`, found by trying."""
    parts = dataset.parts_of(dataset.stem_of(workload.task))
    num_parts = workload.num_parts or workload.min_parts
    while True:
        trial = comparison.Result(_contender(workload, program, command, parts, num_parts))
        comparison.measure(trial, (), TIMEOUT)
        is_sized = workload.num_parts is not None
        if trial.failure or is_sized or trial.seconds[0] > 0.5 * seconds:
            return trial
        # A short trial mostly measures how the program begins, so one step goes only so far.
        factor = min(0.9 * seconds / trial.seconds[0], 20.0)
        wanted = math.ceil(num_parts * factor)
        num_parts = wanted if wanted < len(parts) else math.ceil(wanted / len(parts)) * len(parts)


def _contender(
    workload: Workload,
    program: Program,
    command: Sequence[str | Path],
    parts: Sequence[dataset.Part],
    num_parts: int,
) -> comparison.Contender:
    stem = dataset.stem_of(workload.task)
    chosen = dataset.select(stem, parts, num_parts)
    arguments = ["--parts", str(num_parts)]
    if program.source is None:
        arguments = [str(chosen.num_epochs), *chosen.files]
    return comparison.Contender(
        name=program.title,
        command=[*command, *arguments],
        is_ours=program.key == "headrace",
        variables=program.variables,
        problem_of=_checker(workload.task, [chosen.count, *chosen.sums]),
    )


def _checker(task: str, expected: Sequence[int]) -> Callable[[dict[str, Any]], str]:
    def problem_of(figures: dict[str, Any]) -> str:
        return checksums.difference(task, expected, [figures["count"], *figures["sums"]])

    return problem_of
