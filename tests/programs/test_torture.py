"""A small part of the torture, each part in its own process; `make torture` runs all of it."""

import subprocess
import sys

import pytest
from torture import traced
from torture.__main__ import NAMES
from torture.programs import small_disk

SCALE = 0.002
# Seconds rather than half a minute.
SOAK_SCALE = 0.0003


# `make test` runs the simulation of schedules beside these tests, and others call operations where
# memory is short.
PARTS = [name for name in NAMES if name not in ("schedules", "short_memory")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PARTS)
def test_nothing_goes_wrong_in_a_small_part(name):
    if name in ("read_faults", "write_faults") and not traced.is_there():
        pytest.skip("strace is not there, or may not trace")
    if name == "full_disk" and not small_disk.is_there():
        pytest.skip("no file system may be mounted in a namespace of one's own")
    scale = SOAK_SCALE if name == "soak" else SCALE
    command = [sys.executable, "-m", "torture", name, "--scale", str(scale)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


def test_a_part_that_does_not_exist_is_refused_by_name():
    command = [sys.executable, "-m", "torture", "weather"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no part is named weather" in done.stderr
