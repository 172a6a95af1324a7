"""Runs programs side by side and compares their rates.

Each program is a separate process that prints one line of JSON. A scenario's programs run in turn,
for several rounds. Every other round runs in reverse order, so that drift in the machine's speed
affects all programs equally. Ratios compare runs of the same round. A run is repeated if the
machine's speed changed during it.
"""

import json
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import machine_speed, process

MAX_RUNS = 3
"""The maximum number of attempts until the machine keeps its speed during a run."""


@dataclass(frozen=True)
class Contender:
    """A program to measure.

    Attributes:
        name: The label of its table row.
        command: The command line, beginning with the interpreter.
        is_ours: Whether the last column compares the other programs with this one.
        variables: Additional environment variables.
        problem_of: Returns a description of the problem with its output, if there is one.
    """

    name: str
    command: Sequence[str | Path]
    is_ours: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    problem_of: Callable[[dict[str, Any]], str] = lambda _: ""


@dataclass(frozen=True)
class Scenario:
    """A task that several programs perform.

    Attributes:
        title: The heading of the table.
        contenders: The programs.
        unit: The unit of the rate.
        arguments: Additional arguments for each program's command.
    """

    title: str
    contenders: Sequence[Contender]
    unit: str = "elements/s"
    arguments: Sequence[str] = ()


@dataclass
class Result:
    """The measurements of one program, with one value for each round.

    Attributes:
        contender: The program.
        rates: Examples or elements per second.
        seconds: The duration of a round.
        cpu_us: CPU time per example or element over all processes, in microseconds.
        first_batch_seconds: The time from the start of the process to the first batch, if the
            program reports it.
        peak_mib: Peak memory of all processes.
        loop_seconds: The times of the fixed loop before and after each run.
        num_repeated: The number of runs repeated because the machine's speed changed.
        num_unsettled: The number of runs that count even though the speed changed.
        failure: The reason why there are no further measurements.
    """

    contender: Contender
    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    first_batch_seconds: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)
    loop_seconds: list[float] = field(default_factory=list)
    num_repeated: int = 0
    num_unsettled: int = 0
    failure: str = ""

    @property
    def rate(self) -> float:
        """The median of the rates."""
        return statistics.median(self.rates)

    @property
    def spread(self) -> float:
        """The range of the rates, as a fraction of their median."""
        return (max(self.rates) - min(self.rates)) / self.rate

    def ratios_of(self, ours: "Result") -> list[float]:
        """Returns our program's speed relative to this program in each round."""
        return [a / b for a, b in zip(ours.rates, self.rates, strict=False)]

    def cpu_ratios_of(self, ours: "Result") -> list[float]:
        """Returns this program's CPU time relative to our program in each round."""
        return [b / a for a, b in zip(ours.cpu_us, self.cpu_us, strict=False) if a]


def compare(
    scenarios: Iterable[Scenario], rounds: int, timeout: float = 120.0
) -> list[list[Result]]:
    """Runs all programs of each scenario `rounds` times, in turn.

    Args:
        scenarios: The scenarios to run.
        rounds: The number of rounds.
        timeout: Seconds after which a program counts as failed.

    Returns:
        For each scenario, a result for each contender. A program that fails is not run again.
    """
    table = []
    for scenario in scenarios:
        results = [Result(contender) for contender in scenario.contenders]
        with tqdm(
            total=rounds * len(results), desc=scenario.title, leave=False, disable=None
        ) as progress:
            for number in range(rounds):
                in_round = machine_speed.loop_seconds()
                for result in results[:: -1 if number % 2 else 1]:
                    if not result.failure:
                        measure(result, scenario.arguments, timeout, in_round)
                    progress.update()
        table.append(results)
    return table


def measure(
    result: Result, arguments: Sequence[str], timeout: float, in_round: float | None = None
) -> None:
    """Runs a program and adds the measurements to its result.

    Args:
        result: The program's result.
        arguments: Additional arguments for its command.
        timeout: The number of seconds after which it counts as failed.
        in_round: The time of the fixed loop at the start of the round. If the loop's time after a
            run indicates another state, the run is repeated, up to a few times. None if any speed
            is acceptable.
    """
    for number in range(MAX_RUNS):
        before = machine_speed.loop_seconds()
        run = process.run(
            [*result.contender.command, *arguments], timeout, result.contender.variables
        )
        figures = {} if run.failure else json.loads(run.output.strip().splitlines()[-1])
        result.failure = run.failure or result.contender.problem_of(figures)
        if result.failure:
            return
        after = machine_speed.loop_seconds()
        if in_round is None or machine_speed.is_same_state(before, after, in_round):
            break
        is_last = number == MAX_RUNS - 1
        result.num_unsettled += is_last
        result.num_repeated += not is_last
    result.loop_seconds += [before, after]
    # A program can report its measured share of the time. Otherwise, everything except the set-up
    # counts.
    cpu_seconds = figures.get("cpu_seconds")
    if cpu_seconds is None:
        cpu_seconds = run.cpu_seconds - figures.get("cpu_seconds_before", 0.0)
    result.rates.append(figures.get("rate") or figures["count"] / figures["seconds"])
    result.seconds.append(figures["seconds"])
    result.cpu_us.append(cpu_seconds / figures["count"] * 1e6)
    result.peak_mib.append(run.peak_bytes / 2**20)
    if "first_batch_at" in figures:
        result.first_batch_seconds.append(figures["first_batch_at"] - run.started_at)


def text_of_ratios(ratios: Sequence[float]) -> str:
    """Formats the smallest and largest ratio as a table cell."""
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def table_of(scenario: Scenario, results: Sequence[Result]) -> str:
    """Returns a scenario's Markdown table: medians, spread, and ratios to our own programs."""
    measured = [result for result in results if result.rates]
    ours = next((result for result in measured if result.contender.is_ours), None)
    lines = [
        f"### {scenario.title}",
        "",
        f"| | {scenario.unit} | spread | CPU µs each | headrace ÷ this | in each round |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for result in measured:
        ratios = [] if ours is None else result.ratios_of(ours)
        ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
        cpu = f"{statistics.median(result.cpu_us):.2f}"
        figures = f"{result.rate:,.0f} | {result.spread:.0%} | {cpu} | {ratio}"
        lines.append(f"| {result.contender.name} | {figures} | {text_of_ratios(ratios)} |")
    lines += [
        f"| {result.contender.name} | failed: {result.failure} | | | | |"
        for result in results
        if result.failure
    ]
    state = machine_speed.description(
        chain.from_iterable(result.loop_seconds for result in results),
        sum(result.num_repeated for result in results),
        sum(result.num_unsettled for result in results),
    )
    return "\n".join([*lines, "", state, ""])


def describe_machine() -> str:
    """Returns a line about the processor and the interpreter."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}; Python {sys.version.split()[0]}"
