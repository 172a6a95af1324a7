"""A small part of the stress tests, each part in its own process.

`make test-all` runs more of them each night, and `make stress` runs all of them.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from stress import syscall_faults
from stress.__main__ import NAMES, nightly_scale_of
from stress.programs import small_disk
from tests.tiers import nightly_after

SCALE = 0.002
# Other tests already generate such files and programs, and the soak test takes seconds instead of
# half a minute.
DRAWN = ("images", "mixtures", "pipelines", "sounds", "table_files", "videos")
SMALLER = {"soak": 0.0003, **dict.fromkeys(DRAWN, 1e-4)}
# `make test` runs the simulation of schedules separately, and other tests run operations with
# little memory, or use Hypothesis.
PARTS = [name for name in NAMES if name not in ("property_tests", "schedules", "short_memory")]
# For each change, only the most useful parts run. The others need 10 to 30 s even at a small scale.
SLOW = ("fuzz", "full_disk", "leaks", "read_faults", "soak", "storage_faults", "write_faults")
CASES = sorted(PARTS, key=lambda name: name in SLOW)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", nightly_after(len(PARTS) - len(SLOW), CASES))
def test_stress_part_passes_at_a_small_scale(name):
    if name in ("read_faults", "write_faults") and not syscall_faults.is_there():
        pytest.skip("strace is not there, or may not trace")
    if name == "full_disk" and not small_disk.is_there():
        pytest.skip("no file system may be mounted in a namespace of one's own")
    scale = str(SMALLER.get(name, SCALE))
    command = [sys.executable, "-m", "stress", name, "--scale", scale]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


def test_each_stress_part_runs_every_night():
    assert [name for name in NAMES if not 0 < nightly_scale_of(name) <= 1] == []
    jobs = (Path(__file__).parents[2] / ".github" / "workflows" / "nightly.yml").read_text("utf-8")
    assert [name for name in NAMES if not re.search(rf"- .*\b{name}\b", jobs)] == []


def test_unknown_stress_part_is_rejected_by_name():
    command = [sys.executable, "-m", "stress", "weather"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no part is named weather" in done.stderr
