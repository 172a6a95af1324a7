"""Runs engine pipelines under random thread schedules in a deterministic simulation."""

import os
import re
import subprocess
import sys
from pathlib import Path

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.2
ROOT = Path(__file__).parents[2]
SCHEDULES = 100_000
COMMAND = (
    "cargo test --release --config tools/rust_tests.toml -p headrace-pipeline --features shuttle "
    "--test simulation -- --nocapture"
)


def run(options: Options) -> Result:
    """Runs engine pipelines under random schedules; checks order, delivery, budget and closing."""
    environment = {
        **os.environ,
        # cmake may only be installed next to this Python.
        "PATH": f"{os.environ['PATH']}:{Path(sys.executable).parent}",
        "HEADRACE_SCHEDULES": str(options.times(SCHEDULES)),
        "HEADRACE_SEED": str(options.seed * SCHEDULES),
    }
    done = subprocess.run(
        COMMAND.split(),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    result = Result()
    for words, number in re.findall(r"(\w+): (\d+)(?:, |$)", summary(done.stdout)):
        result.figures[words] = int(number)
    if done.returncode or not result.figures:
        result.failures.append(done.stdout[-100_000:])
    return result


def summary(output: str) -> str:
    """Returns the line with the counts of runs, or nothing if a schedule failed."""
    lines = [line for line in output.splitlines() if line.startswith("schedules: ")]
    return lines[-1] if lines else ""
