"""Names that modules re-export and load on first use."""

import subprocess
import sys

import pytest
from tools.homes import MODULES, path_of, text_of

from headrace.core.exports import homes, late_names


def test_names_are_loaded_once_from_their_homes():
    namespace = {}
    table = homes({"": "paths=os.path", "math": "pi twice_pi=tau"})
    load = late_names(namespace, table, lambda name: AttributeError(f"no {name}"))
    assert load("pi") == namespace["pi"] == 3.141592653589793
    assert load("twice_pi") == 6.283185307179586
    assert load("paths").__name__ in ("posixpath", "ntpath")
    with pytest.raises(AttributeError, match="no tau"):
        load("tau")


@pytest.mark.parametrize("module", MODULES)
def test_homes_match_the_imports_for_type_checkers(module):
    assert (path_of(module) / "homes.py").read_text("utf-8") == text_of(module), (
        "run python -m tools.homes"
    )


def test_star_import_loads_exactly_the_public_names():
    program = "from headrace.ops import *\nimport headrace.ops as ops\n" + (
        "assert {name for name in vars() if name[0] != '_'} - {'ops'} == set(ops.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
