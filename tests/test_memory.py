"""What waits in a queue takes about as much memory as it has bytes, and long runs do not grow.

Each is measured in a process of its own, whose heap nothing else has used and whose allocator
gives back at once what is freed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.memory import waiting  # noqa: E402

MIB = 2**20


def figures_of(program, *arguments):
    command = [sys.executable, "-m", f"benchmarks.memory.{program}", *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **waiting.HELD},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", waiting.KINDS)
def test_records_take_little_more_than_their_bytes(kind):
    figures = figures_of("waiting", kind, "many", "--mib=8")
    assert figures["grown_bytes"] < 2 * figures["count"] * figures["record_bytes"]


def test_a_long_run_ends_with_the_memory_that_it_had_soon(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{number:030d}\n" for number in range(10_000)))
    figures = figures_of("lasting", "lines", path, "--count=1000000", "--soon=50000")
    assert figures["count"] >= 1_000_000
    assert figures["most_bytes"] < figures["soon_bytes"] + 4 * MIB
