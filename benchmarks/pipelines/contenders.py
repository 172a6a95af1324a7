"""The programs that do the work, and how each is set up."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from peers.environments import python_of

from benchmarks.pipelines.dataset import stem_of
from benchmarks.pipelines.tally import TALLIES
from benchmarks.pipelines.workloads import Workload

ROOT = Path(__file__).parent.parent.parent
LIMIT = "limit"
"""The key of what all others are compared with."""


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


SAME = "one example at a time, as TensorFlow 1's guide writes it; `num_threads=4`"
BEST = "`read_up_to`, 128 to 1,024 at a time; two readers; what is left is done for whole batches"
HALF = "photos are decoded at half of their size (`ratio=2`); two threads"
TENSORFLOW = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
WITHOUT_PHOTOS = [task for task in TALLIES if task != "photos"]


def _native(key: str, title: str, tasks: Sequence[str], setting: str, variant: str) -> Program:
    return Program(key, title, None, None, tasks, setting, variant=variant)


def _queues(key: str, title: str, source: str, tasks: Sequence[str], setting: str) -> list[Program]:
    """A program with the names of TensorFlow 1, under headrace and under TensorFlow."""
    ours = Program(f"headrace{key}", f"headrace, {title}", source, None, tasks, setting)
    theirs = Program(
        f"tensorflow{key}",
        f"TensorFlow 1 queues, {title}",
        source,
        "tensorflow",
        tasks,
        setting,
        arguments=["--tensorflow"],
        variables=TENSORFLOW,
    )
    return [ours, theirs]


PROGRAMS = [
    Program(LIMIT, "limit of the machine", None, None, list(TALLIES), "a native loop on all cores"),
    _native("limit-half", "limit, at half size", ["photos"], HALF, "photos_half"),
    _native("limit-decode", "libjpeg-turbo alone", ["photos"], "without resize", "photos_decoded"),
    *_queues("", "the TensorFlow 1 program", "tf1", list(TALLIES), SAME),
    *_queues("-best", "best program", "best", WITHOUT_PHOTOS, BEST),
    *_queues("-best", "at half size", "best", ["photos"], HALF),
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
