"""Checks types in one run of mypy: `python -m tools.type_checks`.

It checks the package, the stress tests and the programs of `tests/typing`. In these programs, a
call that must be an error is marked `type: ignore`, and mypy reports unnecessary marks. A generated
program mentions every public name: a name that is missing or has the type `Any` is an error.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import ops

TOP: Final = Path(__file__).parents[1]
NAMES: Final = TOP / "build" / "typing" / "names.py"
MODULES: Final = {
    "hr": hr,
    "hr.ops": hr.ops,
    "ops": ops,
    "tf": tf,
    "tf.image": tf.image,
    "tf.train": tf.train,
}
# Only a value of type `Any` can be assigned to a variable whose class has no other instances.
START: Final = """\
import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import ops

class _Unlike: ...

value: _Unlike
"""


def write_names() -> None:
    """Writes the program of the public names."""
    names = [f"{module}.{name}" for module, members in MODULES.items() for name in members.__all__]
    lines = [f"value = {name}  # type: ignore[assignment]\n" for name in names]
    NAMES.parent.mkdir(parents=True, exist_ok=True)
    NAMES.write_text(START + "".join(lines))


if __name__ == "__main__":
    write_names()
    command = [sys.executable, "-m", "mypy", "--strict", "python/headrace", "stress"]
    sys.exit(subprocess.run([*command, "tests/typing", NAMES], cwd=TOP, check=False).returncode)
