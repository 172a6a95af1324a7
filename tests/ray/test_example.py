"""The example trains on Ray, with two trainers and two readers."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(program, *arguments):
    command = [sys.executable, EXAMPLES / program, *map(str, arguments)]
    variables = {**os.environ, "RAY_DEDUP_LOGS": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_network_learns_on_ray(tmp_path):
    run("convert_to_records.py", tmp_path, "--examples", 1_000)
    output = run("ray_digits.py", tmp_path, "--epochs", 6, "--store-bytes", 300_000_000)
    steps, accuracy = re.search(r"(\d+) steps, accuracy (0\.\d+)", output).groups()
    assert int(steps) == 60
    assert float(accuracy) > 0.6
