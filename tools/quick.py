"""Runs the tests near changed files, after a quick build: `make quick`.

Changed files are the files that differ from the last commit or, if there are none, the files of the
last commit. A test is near a source file if it has the same name (`test_decode.py` for `decode.py`
or `decode.rs`). If there is no such test, the nearest tests are those that import the file's
module, or else a test for its part of the project. Unit tests in changed Rust files also run.
Python tests take a few seconds at most. A line reports the number of skipped tests.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

TOP: Final = Path(__file__).parents[1]
PACKAGE: Final = Path("python/headrace")
# The maximum number of test files, to keep the run quick.
MOST_FILES: Final = 8
SECONDS: Final = 10.0
# Tests for whole parts of the project, for files without a nearer test.
OF_PARTS: Final = {
    "pipeline": "tests/pipeline/stages/test_stages.py",
    "remote": "tests/io/storage/test_reading.py",
    "queue": "tests/tf1/queues/test_kinds.py",
    "reader": "tests/tf1/ops/readers/test_contract.py",
    "python": "tests/pipeline/stages/test_stages.py",
}


class TimeLimit:
    """Starts no tests after a time limit, which the test files share.

    Args:
        seconds: The total time for all test files.
    """

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.file_end = self.end
        self.file: Path | None = None
        self.files: list[Path] = []
        self.num_skipped = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Records the test files. The tests of each file run consecutively."""
        self.files = list(dict.fromkeys(item.path for item in session.items))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skips a test if its file's time is over, except for the file's first test."""
        now = time.monotonic()
        if item.path != self.file:
            self.file = item.path
            num_files = len(self.files) - self.files.index(item.path)
            self.file_end = now + max(self.end - now, 0) / num_files
        elif now > self.file_end:
            self.num_skipped += 1
            pytest.skip("its time is over")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Reports the number of skipped tests."""
        if self.num_skipped:
            terminalreporter.line(f"{self.num_skipped} tests were skipped: their time was over")


def changed_files() -> list[Path]:
    """Returns the files that differ from the last commit, or the files of the last commit."""
    changed = [
        *_git("diff", "--name-only", "HEAD"),
        *_git("ls-files", "--others", "--exclude-standard"),
    ]
    names = changed or _git("diff", "--name-only", "HEAD~1")
    return [path for name in names if (TOP / (path := Path(name))).is_file()]


def nearest_tests(changed: list[Path]) -> list[Path]:
    """Returns the test files near some files. Changed test files come first."""
    tests = sorted(path.relative_to(TOP) for path in (TOP / "tests").rglob("test_*.py"))
    results = [path for path in changed if path in tests]
    for path in changed:
        if path.suffix in (".py", ".rs") and path not in tests:
            results.extend(_named(path, tests) or _naming(path, tests) or _of_part(path))
    return list(dict.fromkeys(results))[:MOST_FILES]


def unit_tests(changed: list[Path]) -> Iterator[tuple[str, str]]:
    """Yields the crate and the module of each changed Rust file."""
    for path in changed:
        parts = path.with_suffix("").parts
        # The Python binding is tested from Python.
        if (
            path.suffix == ".rs"
            and parts[0] == "crates"
            and "src" in parts
            and parts[1] != "python"
        ):
            inside = [part for part in parts[3:] if part not in ("mod", "lib")]
            yield f"headrace-{parts[1]}", "::".join(inside)


def _named(path: Path, tests: list[Path]) -> list[Path]:
    stem = path.parent.name if path.stem in ("__init__", "mod") else path.stem
    near = [test for test in tests if test.stem in (f"test_{stem}", f"test_{stem}s")]
    # If several files have the name, prefer files in a folder of the same name.
    beside = [test for test in near if set(test.parts[1:-1]) & set(path.parts[:-1])]
    return beside or near


def _naming(path: Path, tests: list[Path]) -> list[Path]:
    if PACKAGE not in path.parents:
        return []
    module = ".".join(path.relative_to("python").with_suffix("").parts).removesuffix(".__init__")
    return [test for test in tests if module in (TOP / test).read_text("utf-8")]


def _of_part(path: Path) -> list[Path]:
    return [Path(test) for part, test in OF_PARTS.items() if part in path.parts][:1]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=TOP, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def _run(*command: str) -> bool:
    print("==", *command, flush=True)
    return subprocess.run(command, cwd=TOP, check=False).returncode == 0


def main() -> int:
    """Runs the tests. Returns 1 if any test fails."""
    changed = changed_files()
    passed = True
    for crate, module in unit_tests(changed):
        command = ("cargo", "test", "--quiet", "--profile", "quick", "-p", crate, "--lib", module)
        passed &= _run(*command)
    tests = nearest_tests(changed)
    if tests:
        print(f"pytest --quiet {' '.join(map(str, tests))}", flush=True)
        arguments = ["--quiet", *(str(TOP / test) for test in tests)]
        passed &= pytest.main(arguments, plugins=[TimeLimit(SECONDS)]) == pytest.ExitCode.OK
    elif next(unit_tests(changed), None) is None:
        print("no test is near what changed; make test runs all of them")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
