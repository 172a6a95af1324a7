"""Runs programs side by side and compares their rates.

Each program is a process of its own that prints one line of JSON. The programs of a scenario run in
turn, several times over, so that a drift of the machine's speed meets all of them; medians and
their ratios are what counts, and only those of one contest.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm


@dataclass(frozen=True)
class Contender:
    """A program that measures something.

    Attributes:
        name: Its row in the table.
        command: How it is run: arguments, the first being the interpreter.
        is_ours: Whether it is what the others are compared with in the last column.
    """

    name: str
    command: Sequence[str | Path]
    is_ours: bool = False


@dataclass(frozen=True)
class Scenario:
    """What several programs are asked to do.

    Attributes:
        title: Stands above the table.
        contenders: The programs.
        unit: What the rate counts.
        arguments: Added to each program's command.
    """

    title: str
    contenders: Sequence[Contender]
    unit: str = "elements/s"
    arguments: Sequence[str] = ()


@dataclass
class Result:
    """What one program printed, a figure each round."""

    contender: Contender
    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def rate(self) -> float:
        """The median of the rates."""
        return statistics.median(self.rates)


def hold(scenarios: Iterable[Scenario], rounds: int, timeout: float = 120.0) -> list[list[Result]]:
    """Runs all programs of each scenario `rounds` times, in turn.

    Args:
        scenarios: What to run.
        rounds: How often.
        timeout: Seconds after which a program counts as failed.

    Returns:
        For each scenario a result for each contender. A program that fails is not run again.
    """
    table = []
    for scenario in scenarios:
        results = [Result(contender) for contender in scenario.contenders]
        turns = [result for _ in range(rounds) for result in results]
        for result in tqdm(turns, desc=scenario.title, leave=False, disable=None):
            if not result.failure:
                _run(result, scenario.arguments, timeout)
        table.append(results)
    return table


def _run(result: Result, arguments: Sequence[str], timeout: float) -> None:
    command = [*map(str, result.contender.command), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        result.failure = f"not done after {timeout:.0f} s"
        return
    if done.returncode:
        result.failure = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[
            -1
        ]
        return
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    result.rates.append(figures["count"] / figures["seconds"])
    result.cpu_us.append(figures["cpu_seconds"] / figures["count"] * 1e6)


def table_of(scenario: Scenario, results: Sequence[Result]) -> str:
    """Returns a Markdown table of a scenario: medians, spread, and ratios to our own programs."""
    measured = [result for result in results if result.rates]
    ours = next((result.rate for result in measured if result.contender.is_ours), None)
    lines = [
        f"### {scenario.title}",
        "",
        f"| | {scenario.unit} | spread | CPU µs each | headrace ÷ this |",
        "|---|--:|--:|--:|--:|",
    ]
    for result in measured:
        spread = (max(result.rates) - min(result.rates)) / result.rate
        ratio = "" if ours is None else f"{ours / result.rate:.2f}"
        cpu = f"{statistics.median(result.cpu_us):.2f}"
        lines.append(
            f"| {result.contender.name} | {result.rate:,.0f} | {spread:.0%} | {cpu} | {ratio} |"
        )
    lines += [
        f"| {result.contender.name} | failed: {result.failure} | | | |"
        for result in results
        if result.failure
    ]
    return "\n".join([*lines, ""])


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
