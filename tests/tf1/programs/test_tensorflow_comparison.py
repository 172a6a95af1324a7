"""The table of programs that is compared with TensorFlow, here without TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensorflow_comparison.__main__ import are_same, outcomes

ROOT = Path(__file__).parents[3]

# The table keeps its cases in a module, so each test loads it in a new process.
LOAD = """
import sys
from pathlib import Path
from tensorflow_comparison import generate, table
from tensorflow_comparison.known_differences import KNOWN_DIFFERENCES, reason_for
path = Path(sys.argv[1])
generate.write(path)
cases = table.all_cases(path)
"""


def run_python(code: str, directory: Path) -> list[str]:
    arguments = [sys.executable, "-c", LOAD + code, str(directory / "arguments.pickle")]
    done = subprocess.run(
        arguments,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


# Building the table takes 10 seconds, or more if other tests run at the same time.
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    code = """
import headrace.tf1 as tf
from collections import Counter
print(len(cases))
print(sum(len(made) for made in table._generated.values()))
reasons = {reason_for(name) for name in cases}
print(*[key for key, reason in KNOWN_DIFFERENCES.items() if reason not in reasons])
families = Counter(name.partition(".")[0] for name in cases)
print(*families)
first = {name.partition("[")[0]: name for name in reversed(cases)}
outcomes = {name: table.outcome_of(cases[name], tf) for name in sorted(first.values())[::4]}
refused = [name for name, outcome in outcomes.items() if list(outcome)[:1] == ["error"]]
print(*outcomes.keys() - set(refused))
print(*refused)
"""
    return run_python(code, tmp_path_factory.mktemp("tensorflow_comparison"))


def test_at_least_400_fixed_and_150_random_programs_are_listed(lines: list[str]) -> None:
    assert int(lines[0]) >= 400
    assert int(lines[1]) >= 150


def test_each_deliberate_difference_names_a_program(lines: list[str]) -> None:
    assert lines[2] == ""


def test_each_family_is_loaded(lines: list[str]) -> None:
    modules = {path.stem for path in (ROOT / "tensorflow_comparison" / "cases").glob("[a-z]*.py")}
    assert set(lines[3].split()) == modules


def test_sample_of_the_programs_runs(lines: list[str]) -> None:
    good, refused = lines[4].split(), lines[5].split()
    assert len(good) > len(refused)


def test_programs_run_in_their_own_directory(tmp_path: Path, monkeypatch) -> None:
    """Files that a program writes do not stay in the caller's directory."""
    outputs: list[Path] = []

    def run(command: list[str], *, cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        outputs.append(cwd)
        Path(command[-1]).write_text('["a", 1]\n')
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    assert outcomes(Path(sys.executable), "headrace", tmp_path) == {"a": 1}
    assert [path.parent for path in outputs] == [tmp_path]
    assert outputs[0].is_dir()


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        (["list", {"a": ["1", "2"]}], ["list", {"a": ["1", "2"]}], True),
        (["list", {"a": ["1", "2"]}], ["list", {"a": ["1", "3"]}], False),
        (["list", "1"], ["list"], False),
        (["~4 0.12345"], ["~4 0.12349"], True),
        (["~4 0.12345"], ["~4 0.1239"], False),
        (["~4 nan"], ["~4 nan"], True),
        (["~4 0.5"], ["0.5"], False),
        (["error", "tf.errors.DataLossError"], ["error", "UnicodeDecodeError"], True),
    ],
)
def test_outcomes_are_compared_with_a_tolerance(ours, theirs, same) -> None:
    assert are_same(ours, theirs) == same
