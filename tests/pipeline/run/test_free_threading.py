"""Free-threaded Python changes nothing but speed, and the engine leaves the GIL off."""

import os
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest

from headrace import pipeline as hp

NUM_ROWS = 16

free_threaded = pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded"
)


@free_threaded
def test_engine_keeps_the_gil_disabled():
    program = (
        "import sys, headrace; headrace.ops, headrace.Pipeline; assert not sys._is_gil_enabled()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, timeout=60, env=environment
    )


def test_functions_and_iterables_run_in_one_thread_by_default():
    rows = hp.arrays({"x": np.zeros((NUM_ROWS, 300_000), np.uint8), "n": np.arange(NUM_ROWS)})
    threads = set()

    def noted(example):
        threads.add(threading.get_ident())
        return {"n": example["n"]}

    def numbers():
        for number in range(300):
            threads.add(threading.get_ident())
            yield {"n": number}

    pipeline = rows.map(noted).options(num_threads=8)
    assert list(pipeline.spec) == ["n"]
    threads.clear()
    assert [int(example["n"]) for example in pipeline] == list(range(NUM_ROWS))
    assert len(threads) == 1
    numbered = hp.iterable(numbers).options(num_threads=8)
    assert list(numbered.spec) == ["n"]
    threads.clear()
    assert [int(example["n"]) for example in numbered] == list(range(300))
    assert len(threads) == 1
