"""Functions of other libraries: each example yields the same batches in threads and processes."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "functions"


def needs(*names):
    missing = [name for name in names if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("program", "num_batches"),
    [
        pytest.param("torchvision_pictures.py", 8, marks=needs("torch", "torchvision")),
        pytest.param("albumentations_pictures.py", 8, marks=needs("albumentations", "cv2")),
        pytest.param("opencv_pictures.py", 8, marks=needs("cv2")),
        pytest.param("pillow_pictures.py", 8, marks=needs("PIL")),
        pytest.param("tokenized_lines.py", 40, marks=needs("tokenizers")),
        ("log_mel_sounds.py", 8),
    ],
)
def test_batches_are_equal_in_one_thread_in_threads_and_in_processes(program, num_batches):
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program, "--callers", "3"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    matches = re.findall(r"^(.*): (\d+) batches, checksum (\w+), ", done.stdout, re.MULTILINE)
    assert [name for name, _, _ in matches] == ["one thread", "3 threads", "3 processes"]
    assert {int(count) for _, count, _ in matches} == {num_batches}
    assert len({checksum for _, _, checksum in matches}) == 1
