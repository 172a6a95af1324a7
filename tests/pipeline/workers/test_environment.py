"""The environment of functions in worker processes: library threads, and warnings at exit."""

import os
import subprocess
import sys

import pytest

TIMEOUT = 60
PROGRAM = """
import os
import numpy as np
import headrace as hr

def threads(example):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
    return {"threads": [os.environ.get(name, "") for name in names]}

if __name__ == "__main__":
    for example in hr.arrays({"n": np.arange(1)}).map(threads, num_processes=1):
        print(*example["threads"])
"""


@pytest.mark.parametrize(
    ("variables", "actual"), [({}, "1 1 1\n"), ({"OMP_NUM_THREADS": "4"}, "4 1 1\n")]
)
def test_libraries_use_one_thread_per_worker_by_default(variables, actual, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    path = os.pathsep.join([os.getcwd(), *sys.path])
    # Warnings, such as of unclosed files, are errors.
    run = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "program.py")],
        check=True,
        timeout=TIMEOUT,
        capture_output=True,
        text=True,
        env={**kept, "PYTHONPATH": path, **variables},
    )
    assert (run.stdout, run.stderr) == (actual, "")
