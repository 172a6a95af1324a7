"""Checks the layers in DESIGN.md. The contracts of import-linter in pyproject.toml list them."""

import ast
import graphlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

top = Path(__file__).parents[1]
import_root = top / "python"

NATIVE = "headrace._native"
# Operations need one number of the machine, and stand above the engine. import-linter sees Python
# modules only.
MAY_IMPORT_NATIVE = frozenset({"headrace.core.engine", "headrace.core.allocation_guard"})
# Modules that load slow modules of the package only when they first need them: commands, worker
# processes, writers, protocol buffer messages, session traces, disk cache keys, NumPy's generators,
# and hints in errors.
MAY_IMPORT_LATE = (
    "headrace.cli.bench.command",
    "headrace.cli.convert.command",
    "headrace.cli.failures",
    "headrace.cli.index.command",
    "headrace.cli.inspect.command",
    "headrace.cli.main",
    "headrace.cli.audit.command",
    "headrace.cli.replay.command",
    "headrace.cli.show.command",
    "headrace.cli.state.command",
    "headrace.cli.tokenize.command",
    "headrace.cli.top.command",
    "headrace.cli.verify.command",
    "headrace.cli.verify.files",
    "headrace.core.digests",
    "headrace.graph.graph",
    "headrace.graph.nodes",
    "headrace.pipeline.functions.python_functions",
    "headrace.pipeline.pipeline",
    "headrace.pipeline.plan.cache_keys.modules",
    "headrace.pipeline.plan.function_planning",
    "headrace.pipeline.plan.requests",
    "headrace.pipeline.run.batches",
    "headrace.pipeline.run.reports",
    "headrace.pipeline.run.spec_inference",
    "headrace.pipeline.stages.bucket_by_shape",
    "headrace.pipeline.stages.other_libraries",
    "headrace.pipeline.stages.split_by",
    "headrace.pipeline.stages.stage",
    "headrace.pipeline.workers.iterator_pool",
    "headrace.pipeline.workers.main_module",
    "headrace.pipeline.writing.tfrecord",
    "headrace.tf1.session.session",
)
# Besides the front, this alone imports `headrace.tf1`: it reads its files for commands.
MAY_IMPORT_TF1 = "headrace.cli.inspect.tensorflow1_files"
# Every program needs this, so loading it late gains nothing.
REQUIRED = "numpy"


class Import(NamedTuple):
    line: int
    target: str
    is_late: bool


def imports_of(tree: ast.AST, modules: frozenset[str]) -> Iterator[Import]:
    """Yields every import of a module, or of a name of it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = {child for node in functions for child in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in submodules]
        else:
            continue
        for name in sorted(set(names)):
            yield Import(node.lineno, name, node in late)


def is_extra(target: str) -> bool:
    """Returns whether a module is of a library that the package can do without."""
    library = target.partition(".")[0]
    return library not in (*sys.stdlib_module_names, "headrace", REQUIRED)


def problems(sources: dict[str, str]) -> list[str]:
    """Returns the problems of the imports of modules, which are source text by dotted name."""
    modules = frozenset(name.removesuffix(".__init__") for name in sources) | {NATIVE}
    wrong = []
    for name, text in sorted(sources.items()):
        for line, target, is_late in imports_of(ast.parse(text), modules):
            if is_late and name not in MAY_IMPORT_LATE and not is_extra(target):
                wrong.append(f"{name}:{line}: imports {target} inside a function")
            if target.startswith(NATIVE) and name not in MAY_IMPORT_NATIVE:
                wrong.append(
                    f"{name}:{line}: imports {target}, only core.engine and core.allocation_guard "
                    "may"
                )
    return wrong


def cycle(sources: dict[str, str]) -> list[str]:
    """Returns modules that import each other in a circle, or nothing.

    Imports for types count, and those inside functions. (import-linter compares packages only.)
    """
    modules = {name.removesuffix(".__init__"): text for name, text in sources.items()}
    graph = {
        name: {
            imported.target
            for imported in imports_of(ast.parse(text), frozenset(modules))
            if imported.target in modules
        }
        for name, text in modules.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Checks the contracts on the package below a directory."""
    program = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from importlinter.cli import lint_imports_command as lint\n"
        "lint(['--no-cache', '--no-logo'])"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        timeout=60,
        cwd=top,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def package() -> dict[str, str]:
    """The source of every module by its name."""
    return {
        ".".join(path.relative_to(import_root).with_suffix("").parts): path.read_text("utf-8")
        for path in (import_root / "headrace").rglob("*.py")
    }


def test_package_keeps_the_import_contracts():
    checked = lint(import_root)
    assert checked.returncode == 0, checked.stdout


def test_each_import_contract_detects_a_violation(tmp_path):
    copied = shutil.ignore_patterns("__pycache__", "*.so", "*.txt", "*.md")
    shutil.copytree(import_root / "headrace", tmp_path / "headrace", ignore=copied)
    violations = {
        "graph": "headrace.ops.image",
        "ops": "headrace.graph.lowering.feeding",
        "ray": "headrace.tf1.saver",
        "pipeline/stages": "headrace.pipeline.plan.planner",
        "tf1/queues": "headrace.tf1.session",
        "io": "headrace",
    }
    for room, target in violations.items():
        new = tmp_path / "headrace" / room / "new.py"
        new.write_text(f"def late():\n    import {target}\n", "utf-8")
    (tmp_path / "headrace" / "misc.py").write_text("", "utf-8")
    checked = lint(tmp_path)
    assert checked.returncode == 1
    assert "0 kept, 6 broken" in checked.stdout, checked.stdout
    assert "headrace.misc" in checked.stdout


@pytest.mark.parametrize("unit", ["records", "errors", "io.storage", "core.engine"])
def test_modules_that_need_no_graphs_do_not_load_them(unit):
    program = (
        f"import sys, headrace.{unit}\n"
        "above = ('headrace.graph', 'headrace.ops', 'headrace.tf1')\n"
        "print([name for name in sys.modules if name.startswith(above)])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert loaded.strip() == "[]"


def test_pipeline_modules_do_not_load_tensorflow_1(package):
    modules = [
        name.removesuffix(".__init__")
        for name in package
        if not name.startswith(("headrace.tf1.", "headrace.ray.", MAY_IMPORT_TF1))
        and not name.endswith(".__main__")
    ]
    program = f"""
import sys
from importlib import import_module

for name in {sorted(modules)}:
    try:
        import_module(name)
    except ModuleNotFoundError as error:  # An extra is not installed.
        assert not error.name.startswith("headrace"), error
import headrace
for name in set(headrace.__all__) - {{"tf1"}}:
    getattr(headrace, name)
print([name for name in sys.modules if name.startswith("headrace.tf1")])
"""
    loaded = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert loaded.strip() == "[]"


def test_only_tensorflow_1_tests_import_tensorflow_1():
    top = Path(__file__).parent
    importing = [
        str(path.relative_to(top))
        for path in sorted(top.rglob("*.py"))
        if path.relative_to(top).parts[0] not in ("tf1", "typing")  # Types are checked together.
        and re.search(r"^\s*(import|from) (headrace|tests)\.tf1\b", path.read_text("utf-8"), re.M)
    ]
    assert importing == []


def test_modules_import_each_other_at_the_top_of_the_file(package):
    assert len(package) > 1
    assert problems(package) == []


def test_each_module_with_permission_to_import_late_does_so(package):
    modules = frozenset(name.removesuffix(".__init__") for name in package)
    late = {
        name
        for name, text in package.items()
        if any(
            actual.is_late and not is_extra(actual.target)
            for actual in imports_of(ast.parse(text), modules)
        )
    }
    assert late == set(MAY_IMPORT_LATE)


def test_modules_have_no_import_cycles(package):
    assert cycle(package) == []


@pytest.mark.parametrize(
    "text",
    [
        "import headrace.ops.array",
        "if TYPE_CHECKING:\n    import headrace.ops.array",
        "def late():\n    import headrace.ops.array",
    ],
)
def test_import_cycle_is_detected(text):
    sources = {
        "headrace.ops.array": "from headrace.ops import math",
        "headrace.ops.math": text,
        "headrace.core.shapes": "",
    }
    assert set(cycle(sources)) == {"headrace.ops.array", "headrace.ops.math"}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (
            {"headrace.records": "from headrace._native import Program"},
            "headrace.records:1: imports headrace._native, only core.engine and "
            "core.allocation_guard may",
        ),
        (
            {"headrace.core.shapes": "from headrace import _native"},
            "headrace.core.shapes:1: imports headrace._native, only core.engine and "
            "core.allocation_guard may",
        ),
        (
            {"headrace.records": "def run():\n    import numpy"},
            "headrace.records:2: imports numpy inside a function",
        ),
        (
            {"headrace.records": "def run():\n    from os import path"},
            "headrace.records:2: imports os inside a function",
        ),
        (
            {"headrace.records": "def run():\n    import headrace.io.storage"},
            "headrace.records:2: imports headrace.io.storage inside a function",
        ),
    ],
)
def test_violation_is_reported_with_its_line(sources, expected):
    assert problems(sources) == [expected]


@pytest.mark.parametrize(
    "sources",
    [
        {"headrace.tf1.session": "import numpy\nfrom headrace.graph.nodes import Graph"},
        {"headrace.core.engine": "from headrace import _native"},
        {"headrace.cli.main": "def main():\n    import headrace.cli.commands"},
        {"headrace.pipeline.outputs.arrow": "def run():\n    import pyarrow"},
    ],
)
def test_allowed_imports_pass(sources):
    assert problems(sources) == []
