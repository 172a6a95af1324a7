"""What a type checker sees of the packages: real types for right names, errors for wrong ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
import headrace.tf1 as tf
from headrace import ops

TOP = Path(__file__).parents[1]
WRONG = ("hr.bogus", "ops.bogus", "tf.bogus", "tf.train.bogus", "tf.image.bogus")
RIGHT = (
    *(f"hr.{name}" for name in hr.__all__),
    *(f"ops.{name}" for name in ops.__all__),
    *(f"tf.{name}" for name in tf.__all__),
    *(f"tf.train.{name}" for name in tf.train.__all__),
    *(f"tf.image.{name}" for name in tf.image.__all__),
)
IMPORTS = "import headrace as hr\nimport headrace.tf1 as tf\nfrom headrace import ops\n"


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict[str, str]:
    """What mypy says of each expression."""
    expressions = [*WRONG, *RIGHT]
    program = tmp_path_factory.mktemp("types") / "program.py"
    lines = [f"reveal_type({expression})" for expression in expressions]
    program.write_text(IMPORTS + "\n".join(lines))
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(program)],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.stderr == ""
    said: dict[str, str] = {}
    for number, text in re.findall(r"program\.py:(\d+): (.*)", result.stdout):
        expression = expressions[int(number) - IMPORTS.count("\n") - 1]
        said[expression] = f"{said.get(expression, '')}{text}\n"
    return said


@pytest.mark.timeout(300)
def test_a_wrong_name_is_an_error(report):
    for expression in WRONG:
        assert "error: Module has no attribute" in report[expression], expression


@pytest.mark.timeout(300)
def test_a_right_name_has_a_type(report):
    assert [name for name in RIGHT if "error:" in report[name]] == []
    assert [name for name in RIGHT if 'Revealed type is "Any"' in report[name]] == []


@pytest.mark.timeout(300)
def test_a_type_is_that_of_the_class_or_function(report):
    assert "headrace.graph.graph.Graph" in report["hr.Graph"]
    assert "-> headrace.session.session.Session" in report["hr.Session"]
    assert "-> headrace.graph.nodes.Tensor" in report["ops.concat"]
    assert "-> headrace.coordinator.Coordinator" in report["tf.train.Coordinator"]
