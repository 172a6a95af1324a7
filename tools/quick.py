"""Runs the tests near what changed, after a quick build: `make quick`.

What changed is what differs from the last commit; where nothing does, it is the last commit. A
test is near a source file if it has its name (`test_decode.py` for `decode.py` or `decode.rs`).
Where none has, those are near that name its module, or else one of its part of the project. Rust
files are tested by their own unit tests, too.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
PACKAGE: Final = Path("python/headrace")
# A quick run that is not quick helps nobody: the nearest test files are enough.
MOST_FILES: Final = 8
# Tests of a whole part of the project, for files that no other test is near.
OF_PARTS: Final = {
    "pipeline": "tests/pipeline/describe/test_stages.py",
    "remote": "tests/io/storage/test_reading.py",
    "queue": "tests/queues/test_kinds.py",
    "reader": "tests/tf1/ops/readers/test_contract.py",
    "python": "tests/pipeline/describe/test_stages.py",
}


def changed_files() -> list[Path]:
    """Returns the files that differ from the last commit, or those of the last commit."""
    changed = [
        *_git("diff", "--name-only", "HEAD"),
        *_git("ls-files", "--others", "--exclude-standard"),
    ]
    names = changed or _git("diff", "--name-only", "HEAD~1")
    return [path for name in names if (TOP / (path := Path(name))).is_file()]


def nearest_tests(changed: list[Path]) -> list[Path]:
    """Returns the test files near some files, those that changed themselves first."""
    tests = sorted(path.relative_to(TOP) for path in (TOP / "tests").rglob("test_*.py"))
    found = [path for path in changed if path in tests]
    for path in changed:
        if path.suffix in (".py", ".rs") and path not in tests:
            found.extend(_named(path, tests) or _naming(path, tests) or _of_part(path))
    return list(dict.fromkeys(found))[:MOST_FILES]


def unit_tests(changed: list[Path]) -> Iterator[tuple[str, str]]:
    """Yields the crate and the module of each Rust file that changed."""
    for path in changed:
        parts = path.with_suffix("").parts
        # The binding is tested from Python.
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
    # Of several with one name, those in a folder that both have.
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
    """Runs the tests; returns 1 if one fails."""
    changed = changed_files()
    passed = True
    for crate, module in unit_tests(changed):
        command = ("cargo", "test", "--quiet", "--profile", "quick", "-p", crate, "--lib", module)
        passed &= _run(*command)
    tests = nearest_tests(changed)
    if tests:
        passed &= _run(sys.executable, "-m", "pytest", "--quiet", *map(str, tests))
    elif next(unit_tests(changed), None) is None:
        print("no test is near what changed; make test runs all of them")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
