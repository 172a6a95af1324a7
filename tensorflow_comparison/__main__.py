"""Compares headrace with TensorFlow, case by case: `python -m tensorflow_comparison`."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from benchmarks.environments import python_of

from tensorflow_comparison import generate
from tensorflow_comparison.known_differences import KNOWN_DIFFERENCES, reason_for
from tensorflow_comparison.table import NEARLY

TIMEOUT_SECONDS = 900
UNREADABLE = ["error", "UnicodeDecodeError"]
ARGUMENTS = "arguments.pickle"
ROOT = Path(__file__).parent.parent


@click.command()
@click.option("--only", default="", help="Show cases whose names contain this in full.")
@click.option("--seed", type=int, help="Make up other arguments than the usual ones.")
@click.option("--times", default=1, help="Make up so many times as many arguments.")
def main(only: str, seed: int | None, times: int) -> None:
    """Runs the table of programs with headrace and with TensorFlow, and compares the outcomes."""
    tensorflow = python_of("tensorflow")
    if tensorflow is None:
        sys.exit("TensorFlow could not be installed: nothing was compared")
    with TemporaryDirectory() as directory:
        generate.write(Path(directory) / ARGUMENTS, seed, times)
        ours = outcomes(Path(sys.executable), "headrace", Path(directory))
        theirs = outcomes(tensorflow, "tensorflow", Path(directory))
    sys.exit(compare(ours, theirs, only))


def outcomes(python: Path, library: str, directory: Path) -> dict[str, Any]:
    """Returns the outcome of each case with a library, run in an empty directory."""
    path = directory / f"{library}.jsonl"
    working = directory / library
    working.mkdir()
    command = [
        str(python),
        "-m",
        "tensorflow_comparison.run",
        library,
        str(directory / ARGUMENTS),
        str(path),
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",  # TensorFlow logs the raw bytes of damaged input
        cwd=working,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"},
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{library}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return dict(json.loads(line) for line in path.read_text().splitlines())


def compare(ours: dict[str, Any], theirs: dict[str, Any], only: str) -> int:
    """Prints the differences, and returns the number of unintended ones."""
    differing = [name for name in theirs if not are_same(ours[name], theirs[name])]
    unexpected = [name for name in differing if reason_for(name) is None]
    for name in unexpected:
        print(f"{name}\n  TensorFlow: {_short(theirs[name])}\n  headrace:   {_short(ours[name])}")
    if only:
        for name, outcome in theirs.items():
            if only in name:
                print(f"{name}\n  {outcome}\n  {ours[name]}")
    reasons = {reason_for(name) for name in differing}
    used = {key for key, reason in KNOWN_DIFFERENCES.items() if reason in reasons}
    for key in KNOWN_DIFFERENCES.keys() - used:
        print(f"known_differences.py: {key!r} names no case that differs; delete it")
    num_known = len(differing) - len(unexpected)
    print(
        f"{len(theirs)} cases: {len(theirs) - len(differing)} the same, {num_known} differ as "
        f"known, {len(unexpected)} differ"
    )
    return len(unexpected) + len(KNOWN_DIFFERENCES.keys() - used)


def are_same(ours: Any, theirs: Any) -> bool:
    """Returns whether two outcomes are equal.

    If TensorFlow fails to decode the text of its own error, any error counts as equal.
    """
    if theirs == UNREADABLE and ours[:1] == ["error"]:
        return True
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(are_same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(are_same(ours[k], theirs[k]) for k in ours)
    both = [ours, theirs]
    if ours == theirs or not all(isinstance(o, str) and o.startswith(NEARLY) for o in both):
        return bool(ours == theirs)
    (digits, first), (_, second) = (outcome.removeprefix(NEARLY).split() for outcome in both)
    return math.isclose(float(first), float(second), rel_tol=10.0 ** (1 - int(digits)))


def _short(outcome: Any) -> str:
    text = json.dumps(outcome)
    return text if len(text) < 400 else f"{text[:400]} ..."


if __name__ == "__main__":
    main()
