"""The examples of the README and of the documentation run unchanged."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

top = Path(__file__).parents[1]
# These run in `make test-frameworks`.
FRAMEWORKS = ("accelerate", "albumentations", "jax", "torch", "torchvision", "transformers")

# It calls what PyTorch has deprecated.
TORCHDATA_WARNING = "ignore:'set_vital' is deprecated, please do not call"


def examples() -> list:
    """Finds every block of Python, each a program of its own."""
    return [
        pytest.param(
            block, id=f"{path.relative_to(top)}:{text[: match.start()].count(chr(10)) + 1}"
        )
        for path in (top / "README.md", *sorted((top / "docs").rglob("*.md")))
        for text in [path.read_text("utf-8")]
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for block in [match[1]]
    ]


# As after an installation without extras.
NUMPY_ALONE = """
import runpy
import sys

class Refuse:
    known = {*sys.stdlib_module_names, "headrace", "numpy"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.known:
            raise ModuleNotFoundError(f"{name} is not installed")

sys.meta_path.insert(0, Refuse())
runpy.run_path("example.py")
"""


def test_the_first_example_needs_only_numpy(tmp_path):
    first = next(example for example in examples() if "README" in str(example.id))
    (tmp_path / "example.py").write_text(first.values[0], "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", NUMPY_ALONE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 3 * 79


@pytest.mark.parametrize("block", examples())
def test_example_runs(block, tmp_path):
    for name in re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE):
        if name in FRAMEWORKS and find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    if "init_process_group" in block:
        pytest.skip("it runs as several ranks, in tests/pipeline/outputs/test_outputs.py")
    if "import headrace.ray as" in block:
        pytest.skip("it runs where Ray is, in tests/ray/test_example.py")
    (tmp_path / "example.py").write_text(block, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", TORCHDATA_WARNING, "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
