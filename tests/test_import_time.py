"""`import headrace` is quick, and the first pipeline loads few modules."""

import subprocess
import sys

MOST_SECONDS = 0.050


def seconds_of_import() -> float:
    """Imports headrace in a new interpreter; returns the seconds, without NumPy's."""
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import headrace"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=True,
    ).stderr
    cumulative = {}
    for line in report.splitlines()[1:]:
        _, microseconds, name = line.split("|")
        cumulative[name.strip()] = int(microseconds) / 1e6
    return cumulative["headrace"] - cumulative.get("numpy", 0.0)


def test_importing_headrace_without_numpy_takes_under_50_ms():
    assert min(seconds_of_import() for _ in range(5)) < MOST_SECONDS


LATER = {
    "headrace.ops",
    "headrace.pipeline.functions.random_generators",
    "headrace.pipeline.native_functions",
    "headrace.pipeline.plan.cache_keys.keys",
    "headrace.pipeline.sources.parquet",
    "headrace.pipeline.sources.tokens",
    "headrace.pipeline.workers.remote",
    "headrace.tf1",
    "difflib",
    "email",
    "importlib.metadata",
    "multiprocessing",
    "numpy.ma",
    "numpy.random",
    "socket",
    "sysconfig",
}
"""Modules that a pipeline of arrays does not need. Each takes a millisecond or more."""


def test_first_pipeline_loads_no_module_that_it_does_not_need():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "before = set(sys.modules)\n"
        "import headrace as hr\n"
        "batches = iter(hr.arrays({'n': np.arange(100)}).shuffle(seed=1).map(dict).batch(10))\n"
        "next(batches)\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    loaded = set(run.stdout.split())
    assert "headrace.pipeline.sources.arrays" in loaded
    assert loaded & LATER == set()
