"""Runs Hypothesis tests with other examples than `make test`."""

import subprocess
import sys
from pathlib import Path

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.05
ROOT = Path(__file__).parents[2]
RUNS = 40
# The last lines of a run contain the failing examples.
LINES = 60


def run(options: Options) -> Result:
    """Runs Hypothesis tests with other examples than `make test`."""
    result = Result()
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis"]
    runs = options.times(RUNS)
    for number in range(runs):
        seed = options.seed * RUNS + number
        arguments = ["--hypothesis-profile=anew", f"--hypothesis-seed={seed}", "tests"]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, cwd=ROOT, check=False
        )
        if done.returncode:
            said = "\n".join(done.stdout.splitlines()[-LINES:])
            result.failures.append(f"`pytest -m hypothesis {' '.join(arguments)}`:\n{said}")
    result.figures["runs of the tests"] = runs
    return result
