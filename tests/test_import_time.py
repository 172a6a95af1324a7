"""`import headrace` is quick: its time without NumPy's has a bound."""

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
