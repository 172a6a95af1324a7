"""The programs of the benchmarks, and the running of one."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from peers.environments import python_of

from benchmarks.pipelines.dataset import stem_of

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Program:
    """A program that does a workload.

    Attributes:
        key: Its name on the command line.
        title: Its row in the table.
        source: The Python module to run, of this package; if it is a package, its module that is
            named as the data set. None for a native loop.
        environment: A key of `peers.environments.REQUIREMENTS`; None for our own environment.
        tasks: The tasks that it does.
        setting: How it is set up, for the reader of the table.
        variant: What to do, if that is not called as the task is.
        arguments: Of the command.
        variables: Of the environment.
    """

    key: str
    title: str
    source: str | None
    environment: str | None
    tasks: Sequence[str]
    setting: str
    variant: str | None = None
    arguments: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)


def command_of(program: Program, task: str) -> list[str | Path] | None:
    """Returns how to run a program, without how much to do; None if it cannot be installed."""
    variant = program.variant or task
    if program.source is None:
        return [build_limits(), variant]
    python = Path(sys.executable)
    if program.environment is not None:
        found = _python_of(program.environment)
        if found is None:
            return None
        python = found
    module = f"benchmarks.pipelines.{program.source}"
    if (ROOT / module.replace(".", "/")).is_dir():
        module = f"{module}.{stem_of(task)}"
    return [python, "-m", module, variant, *program.arguments]


_python_of = cache(python_of)


@cache
def build_limits() -> Path:
    """Builds the native loops for this very processor; returns the program."""
    target = ROOT / "target" / "limits"
    command = ["cargo", "build", "--quiet", "--release", "--package", "headrace-limits"]
    flags = {"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": str(target)}
    # cmake may be that of the virtual environment.
    path = os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])
    subprocess.run(command, cwd=ROOT, env={**os.environ, **flags, "PATH": path}, check=True)
    return target / "release" / "headrace-limits"
