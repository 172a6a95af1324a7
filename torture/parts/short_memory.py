"""Operations with little memory, each with all limits of the tests."""

import subprocess
import sys
from pathlib import Path

from torture.part import Options, Result

ROOT = Path(__file__).parents[2]
PROGRAMS = ["tests.pipeline.tracing.short_memory", "tests.tf1.short_memory"]


def run(options: Options) -> Result:
    """Runs operations with little memory, which must give a result or an error."""
    # `make test` runs a part of this.
    amounts = ["--all"] if options.scale >= 1 else []
    result = Result()
    for program in PROGRAMS:
        command = [sys.executable, "-m", program, *amounts]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        failures = list(filter(None, done.stdout.splitlines()))
        if done.returncode and not failures:
            failures = [f"{program} ended with {done.returncode}: {done.stderr[-2000:]}"]
        result.failures += failures
    result.figures["programs"] = len(PROGRAMS)
    return result
