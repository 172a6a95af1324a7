"""Counts the engine's instructions: `python -m benchmarks.instructions`.

Source: callgrind of valgrind (valgrind.org), which counts what it simulates, on any machine alike.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.instructions import program

RECORD = Path(__file__).parent / "counts.json"
TOLERANCE = 0.03
"""By what share a count may grow."""
QUEUES = ["headrace_engine::program::Program::run*"]
PIPELINES = [
    "headrace_pipeline::execution::executor::Executor::work*",
    "headrace_pipeline::execution::executor::Executor::next*",
]
"""Instructions count while one of these functions runs."""


def count(name: str) -> int:
    """Returns how many instructions the engine executes for an example of a program."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "data"
        program.write(name, path)
        counted = PIPELINES if program.is_pipeline(name) else QUEUES
        command = [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *(f"--toggle-collect={function}" for function in counted),
            *(sys.executable, "-m", "benchmarks.instructions.program", name, str(path)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None or int(found[1]) == 0:
        raise click.ClickException(f"{name}: no instructions were counted\n{done.stderr[-2000:]}")
    return round(int(found[1]) / program.num_examples(name))


@click.command()
@click.option("--record", is_flag=True, help="Keep the counts as those to compare with.")
def main(record: bool) -> None:
    """Counts the instructions for each example of the programs and compares with the record.

    Fails if a count has grown by more than 3 %. Record the new counts where that is wanted, and
    where they have shrunk.
    """
    if shutil.which("valgrind") is None:
        raise click.ClickException(
            "no valgrind found. Install it: sudo apt-get install -y valgrind"
        )
    counts = {name: count(name) for name in program.PROGRAMS}
    if record:
        RECORD.write_text(json.dumps(counts, indent=4) + "\n")
        return
    recorded = json.loads(RECORD.read_text())
    grown = []
    for name, now in counts.items():
        before = recorded[name]
        print(f"{name}: {now:,} instructions an example, {now / before - 1:+.1%}")
        grown += [name] if now > before * (1 + TOLERANCE) else []
    if grown:
        raise click.ClickException(f"more instructions than recorded: {', '.join(grown)}")


if __name__ == "__main__":
    main()
