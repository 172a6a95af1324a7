"""The example trains on Ray, with two trainers and two readers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
EXAMPLES = TOP / "examples" / "digits"


def run(program, *arguments):
    command = [sys.executable, program, *map(str, arguments)]
    variables = {**os.environ, "RAY_DEDUP_LOGS": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_network_learns_on_ray(tmp_path):
    run(EXAMPLES / "digits.py", tmp_path, "--examples", 1_000)
    output = run(EXAMPLES / "ray_digits.py", tmp_path, "--epochs", 6, "--store-bytes", 300_000_000)
    steps, accuracy = re.search(r"(\d+) steps, accuracy (0\.\d+)", output).groups()
    assert int(steps) == 60
    assert float(accuracy) > 0.6


def test_program_of_the_docs_page_runs(tmp_path):
    text = (TOP / "docs/guides/beyond_one_machine.md").read_text("utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text(block, "utf-8")
    # Ray writes among the lines.
    trainers, first = (line for line in run(program).splitlines() if line.startswith("[["))
    assert json.loads(trainers)[0] == json.loads(first)
