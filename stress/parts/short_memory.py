"""Runs all operations with little memory; tests only run a few."""

import subprocess
import sys
from pathlib import Path

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 1.0
ROOT = Path(__file__).parents[2]
PROGRAMS = ["tests.pipeline.native_functions.short_memory", "tests.tf1.short_memory"]


def run(options: Options) -> Result:
    """Runs operations with little memory, which must return a result or raise an error."""
    result = Result()
    for program in PROGRAMS:
        command = [sys.executable, "-m", program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        failures = list(filter(None, done.stdout.splitlines()))
        if done.returncode and not failures:
            failures = [f"{program} ended with {done.returncode}: {done.stderr[-2000:]}"]
        result.failures += failures
    result.figures["programs"] = len(PROGRAMS)
    return result
