"""The examples in the README and on pages run unchanged (see tests/tf1 for docs/tf1)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.page_programs import check_program, programs_of

TOP = Path(__file__).parents[1]
PAGES = [
    TOP / "README.md",
    *(page for page in sorted((TOP / "docs").rglob("*.md")) if page.parent.name != "tf1"),
]

# This is like an installation without extras.
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


def test_first_example_needs_only_numpy(tmp_path):
    first = programs_of([TOP / "README.md"])[0]
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
    assert len(done.stdout.splitlines()) == 3
    assert f"```text\n{done.stdout}```" in (TOP / "README.md").read_text("utf-8")


@pytest.mark.parametrize("program", programs_of(PAGES))
def test_example_runs(program, tmp_path):
    if "init_process_group" in program:
        pytest.skip("it runs as several ranks, in tests/pipeline/outputs/test_outputs.py")
    if "import headrace.ray as" in program:
        pytest.skip("it runs where Ray is, in tests/ray/test_example.py")
    check_program(program, tmp_path)
