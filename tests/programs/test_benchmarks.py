"""The programs of the benchmarks run, and check their data. Their figures are not checked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("producers", [1, 3])
@pytest.mark.parametrize("batch", [1, 128])
@pytest.mark.parametrize("program", ["graph.py headrace run", "graph.py headrace runner"])
def test_a_flow_loses_nothing(program, batch, producers):
    figures = figures_of(program, f"--batch={batch}", f"--producers={producers}")
    assert figures["count"] % batch == 0


@pytest.mark.parametrize(
    "program",
    [
        "graph.py headrace callable",
        "graph.py headrace batches",
        "python.py queue",
        "python.py copy",
    ],
)
def test_the_other_programs_run(program):
    batches = ["--batches"] if program == "python.py copy" else []
    assert figures_of(program, "--batch=8", *batches)["count"] > 0


def figures_of(program, *arguments):
    """Returns the figures that a program of the queue benchmarks prints."""
    script, *words = program.split()
    command = [sys.executable, BENCHMARKS / "queues" / script, *words, *arguments]
    done = subprocess.run(
        [*command, "--seconds=0.02"], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
