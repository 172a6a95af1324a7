"""Loops over the rows of a batch under headrace and under TensorFlow: `python -m benchmarks.loops`.

Prints a table: microseconds and processor microseconds for a row, medians of several series, and
how many times as much TensorFlow takes. Sums of results must agree.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from peers.environments import python_of

from benchmarks.loops.program import LOOPS

TOP = Path(__file__).parents[2]
TOLERANCE = 1e-3


def measured(python: str | Path, library: str) -> Any:
    """Runs the program under a library, in a process of its own."""
    command = [str(python), "-m", "benchmarks.loops.program", library]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(TOP), str(TOP / "python")])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{library} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measures both and prints the table."""
    theirs_python = python_of("tensorflow")
    if theirs_python is None:
        raise SystemExit("TensorFlow is not here to compare with.")
    ours, theirs = measured(sys.executable, "headrace"), measured(theirs_python, "tensorflow")
    print(
        "| loop | headrace: µs a row | processor | TensorFlow: µs | processor | ratio | processor |"
    )
    print("|---|---|---|---|---|---|---|")
    for loop in LOOPS:
        first, second = ours[loop.__name__], theirs[loop.__name__]
        if abs(first["sum"] - second["sum"]) > TOLERANCE * max(1.0, abs(second["sum"])):
            raise SystemExit(f"{loop.__name__}: sums differ: {first['sum']} and {second['sum']}")
        figures = [
            median(side[what]) / side["rows"] * 1e6
            for side in (first, second)
            for what in ("seconds", "processor")
        ]
        ratios = figures[2] / figures[0], figures[3] / figures[1]
        cells = [*(f"{figure:,.1f}" for figure in figures), *(f"{ratio:.1f}" for ratio in ratios)]
        print(f"| {(loop.__doc__ or '').rstrip('.')} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
