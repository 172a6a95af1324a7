"""`make test-frameworks` runs each test that needs a library which only it installs."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = re.compile(r'\b(?:importorskip|find_spec|needs)\(\s*"(\w+)')
# Modules whose packages have other names.
PACKAGES = {"cv2": "opencv-python-headless", "megatron": "megatron-core", "PIL": "pillow"}


def text(path):
    return (ROOT / path).read_text("utf-8")


def words(content):
    return set(re.findall(r"[\w-]+", content))


def test_script_runs_each_test_that_needs_its_libraries():
    script = "tools/test_frameworks.sh"
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    libraries = words(text(script)) - words(f"{extras} {text('requirements-dev.txt')}")
    assert {"torch", "jax", "pandas", "librosa"} <= libraries
    listed = text(script) + text("tools/test_gpu.sh")
    run = {ROOT / path for path in re.findall(r"\btests/[\w/.]+", listed)}
    missing = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if {PACKAGES.get(name, name) for name in NEEDED.findall(path.read_text("utf-8"))}
        & libraries
        and not run & {path, *path.parents}
    ]
    assert missing == [], f"add them to {script}"
