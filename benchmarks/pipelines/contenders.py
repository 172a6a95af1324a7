"""The programs that do the work, and how each is set up."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from peers.environments import python_of

from benchmarks.pipelines.workloads import Workload

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Program:
    """A program that does a workload.

    Attributes:
        key: Its name on the command line.
        title: Its row in the table.
        module: The Python module to run; None for the native loop.
        environment: A key of `peers.environments.REQUIREMENTS`; None for our own environment.
        tasks: The tasks that it does.
        setting: How it is set up, for the reader of the table.
        arguments: Of the command.
        variables: Of the environment.
    """

    key: str
    title: str
    module: str | None
    environment: str | None
    tasks: Sequence[str]
    setting: str
    arguments: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)


QUEUES = ["examples", "numbers", "lines"]
SAME = "the program of TensorFlow 1's guide: one example at a time, `num_threads=4`"
BEST = "`read_up_to`, batches parsed at once"
TENSORFLOW = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

PROGRAMS = [
    Program("limit", "limit of the machine", None, None, QUEUES, "a native loop on all cores"),
    Program("headrace", "headrace, same program", "tf1", None, QUEUES, SAME),
    Program(
        "tensorflow",
        "TensorFlow 1 queues, same program",
        "tf1",
        "tensorflow",
        QUEUES,
        SAME,
        ["--tensorflow"],
        TENSORFLOW,
    ),
    Program("headrace-best", "headrace, best program", "best", None, QUEUES, BEST),
]


def programs_for(workload: Workload, names: Sequence[str]) -> list[Program]:
    """Returns the programs that do a workload and whose keys begin with one of some names."""
    return [
        program
        for program in PROGRAMS
        if workload.task in program.tasks
        and (not names or any(program.key.startswith(name) for name in names))
    ]


def command_of(program: Program, task: str) -> list[str | Path] | None:
    """Returns how to run a program, without how much to do; None if it cannot be installed."""
    if program.module is None:
        return [build_limits(), task]
    python = Path(sys.executable)
    if program.environment is not None:
        found = _python_of(program.environment)
        if found is None:
            return None
        python = found
    module = f"benchmarks.pipelines.{program.module}"
    if (ROOT / module.replace(".", "/")).is_dir():
        module = f"{module}.{task}"
    return [python, "-m", module, task, *program.arguments]


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


def keys() -> Iterator[str]:
    """Yields the keys of all programs."""
    yield from (program.key for program in PROGRAMS)
