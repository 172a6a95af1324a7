"""`make test-frameworks` runs each test that needs a library which only it installs."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"
NEEDED = re.compile(r'\b(?:importorskip|find_spec|needs)\(\s*"(\w+)')
# Modules whose packages have other names.
PACKAGES = {"cv2": "opencv-python-headless", "megatron": "megatron-core", "PIL": "pillow"}
# Instead of installing and testing, prints the arguments. Comes after the script's own functions.
PRINTING = """
environment() { printf 'install %s\\n' "$@"; }
run() { printf 'test %s\\n' "$@"; }
"""


def packages(*files):
    return set(re.findall(r"[\w-]+", "".join((ROOT / file).read_text("utf-8") for file in files)))


def arguments():
    """What the script would install and test."""
    definitions, calls = (TOOLS / "test_frameworks.sh").read_text("utf-8").split("\noutputs=")
    command = ["bash", "-c", f"{definitions}{PRINTING}outputs={calls}", "tools/test_frameworks.sh"]
    environment = os.environ | {"AUTOMODEL": "1"}
    result = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True, timeout=30
    )
    lines = [line.split(" ", 1) for line in result.stdout.splitlines()]
    installed = {re.split(r"[\[=><]", name)[0] for verb, name in lines if verb == "install"}
    return installed, [ROOT / path for verb, path in lines if verb == "test"]


INSTALLED, TESTED = arguments()
ONLY_THERE = INSTALLED - packages("requirements-dev.txt", "pyproject.toml")


def test_script_tests_existing_files():
    paths = [path for path in TESTED if "tests" in path.parts]
    assert len(paths) > 30
    assert [path for path in paths if not path.exists()] == []


def test_script_runs_each_test_that_needs_its_libraries():
    elsewhere = (TOOLS / "test_gpu.sh").read_text("utf-8")
    missing = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        names = {PACKAGES.get(name, name) for name in NEEDED.findall(path.read_text("utf-8"))}
        if names & ONLY_THERE and path.name not in elsewhere:
            missing += [path] * (not {path, *path.parents} & set(TESTED))
    assert missing == [], "add these to tools/test_frameworks.sh"
