"""Operations with too little memory raise an error and do not end the process."""

import subprocess
import sys

import pytest

# The stress tests call all operations.
NAMES = ["concat", "decode_csv", "decode_image", "gather of a cast"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_operations_raise_an_error_when_memory_runs_out():
    command = [sys.executable, "-m", "tests.pipeline.native_functions.short_memory", *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert (done.stdout.split("\n")[:-1], done.returncode) == ([""], 0), done.stderr[-2000:]
