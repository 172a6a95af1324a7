"""The public names of modules that collect names of others."""

import math
import subprocess
import sys
from typing import TYPE_CHECKING

from headrace.core.exports import public_names


def test_private_names_and_modules_are_not_public():
    names = {"b": 1, "a": print, "_c": 2, "math": math, "TYPE_CHECKING": TYPE_CHECKING}
    assert public_names(names) == ["a", "b"]
    assert public_names(names, {"math"}) == ["a", "b", "math"]


def test_star_import_loads_exactly_the_public_names():
    program = "from headrace.ops import *\nimport headrace.ops as ops\n" + (
        "assert {name for name in vars() if name[0] != '_'} - {'ops'} == set(ops.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
