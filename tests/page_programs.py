"""The programs on pages: each Python block runs on its own and prints something."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["check_program", "programs_of"]

TOP = Path(__file__).parents[1]
# These run in `make test-frameworks`.
FRAMEWORKS = (
    *("accelerate", "albumentations", "av", "grain", "jax", "keras", "mlx", "torch"),
    *("torchvision", "transformers"),
)
# It calls deprecated functions of PyTorch.
TORCHDATA_WARNING = "ignore:'set_vital' is deprecated, please do not call"


def programs_of(pages: Iterable[Path]) -> list:
    """Returns a parameter for each block of Python, with the page and the line as its name.

    Blocks in tabs are indented.
    """
    return [
        pytest.param(
            textwrap.dedent(match[2]),
            id=f"{page.relative_to(TOP)}:{text[: match.start()].count(chr(10)) + 1}",
        )
        for page in pages
        for text in [page.read_text("utf-8")]
        for match in re.finditer(r"^( *)```python\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    ]


def check_program(program: str, folder: Path) -> None:
    """Runs a program in a folder, or skips the test if a framework is missing."""
    imported = re.findall(r"^(?:import|from) (\w+)", program, re.MULTILINE)
    for name in [*imported, *re.findall(r"\.to_(\w+)\(", program)]:
        if name in FRAMEWORKS and find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    (folder / "example.py").write_text(program, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", TORCHDATA_WARNING, "example.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
