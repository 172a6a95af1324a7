"""Compares packers on the same lists: `python -m benchmarks.packing`."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import click
from peers.environments import python_of

ROOT = Path(__file__).parent.parent.parent


def run(python: Path, name: str, num_lists: int) -> dict[str, float]:
    """Runs a program once; returns what it prints."""
    command = [python, "-m", f"benchmarks.packing.with_{name}", str(num_lists)]
    finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return dict(json.loads(finished.stdout))


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--lists", default=20_000, show_default=True, help="How many lists are packed.")
def main(rounds: int, lists: int) -> None:
    """Packs the same lists with headrace and with Grain, in turn."""
    grain = python_of("grain")
    pythons = {"headrace": Path(sys.executable), **({} if grain is None else {"grain": grain})}
    if grain is None:
        click.echo("grain cannot be installed", err=True)
    runs = [
        {name: run(python, name, lists) for name, python in pythons.items()} for _ in range(rounds)
    ]
    for name in pythons:
        rates = [lists / one[name]["seconds"] for one in runs]
        padding = runs[0][name]["padding"]
        click.echo(
            f"{name}: {statistics.median(rates):,.0f} lists a second "
            f"({min(rates):,.0f} to {max(rates):,.0f}), {padding:.2%} fills up"
        )
    if "grain" in pythons:
        ratios = [one["grain"]["seconds"] / one["headrace"]["seconds"] for one in runs]
        click.echo(f"headrace / grain: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
