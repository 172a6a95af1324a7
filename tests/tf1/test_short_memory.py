"""Operations of sessions where memory is short: an error, and never the end of the process."""

import subprocess
import sys

import pytest

# The stress tests call all operations.
NAMES = ["MutableHashTable", "RandomShuffleQueue", "summary.image"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_an_operation_of_a_session_that_gets_no_memory_fails_with_an_error():
    command = [sys.executable, "-m", "tests.tf1.short_memory", *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr[-2000:]
