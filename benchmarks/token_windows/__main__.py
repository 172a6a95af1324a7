"""Compares readers of the same file of tokens: `python -m benchmarks.token_windows`."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import click
from peers.environments import python_of

from benchmarks.token_windows.windows import write

ROOT = Path(__file__).parent.parent.parent


def run(python: Path, name: str, num_batches: int) -> float:
    """Runs a program once; returns its windows a second."""
    command = [python, "-m", f"benchmarks.token_windows.with_{name}", str(num_batches)]
    finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(finished.stdout)
    return float(found["windows"] / found["seconds"])


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--batches", default=500, show_default=True, help="How many batches are read.")
@click.option("--grain/--no-grain", "has_grain", default=True, help="Whether to run Grain, too.")
def main(rounds: int, batches: int, has_grain: bool) -> None:
    """Reads windows of 1,025 tokens in random order, with each of the readers in turn."""
    grain = python_of("grain") if has_grain else None
    pythons = {"headrace": Path(sys.executable), "memmap": Path(sys.executable)}
    if grain is not None:
        pythons["grain"] = grain
    write()
    rates = {name: [] for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            rates[name].append(run(python, name, batches))
    for name, found in rates.items():
        click.echo(
            f"{name}: {statistics.median(found):,.0f} windows a second "
            f"({min(found):,.0f} to {max(found):,.0f})"
        )
        if name != "headrace":
            ratios = [ours / theirs for ours, theirs in zip(rates["headrace"], found, strict=True)]
            click.echo(f"headrace / {name}: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
