"""Operations where memory is short: an error, and never the end of the process."""

import subprocess
import sys

import pytest

CALLED = [
    *("cast", "tile", "decode_raw", "encode_png", "encode_base64", "convert_image_dtype", "substr"),
    *("transpose of a cast", "concat of casts", "pad of a cast", "reduce_sum of a cast"),
    "add of a cast",
]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_an_operation_that_gets_no_memory_fails_with_an_error():
    command = [sys.executable, "-m", "tests.pipeline.short_memory", *CALLED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout.split("\n")[:-1], done.returncode) == ([""], 0), done.stderr[-2000:]
