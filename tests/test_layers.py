"""Holds the layer table of DESIGN.md: imports point up it only."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import_root = Path(__file__).parents[1] / "python"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        units: Modules or packages under `headrace`, without that name.
        inside: Which units of the row may import which others of it.
    """

    units: frozenset[str]
    inside: dict[str, frozenset[str]]


def row(*units: str, **inside: str) -> Row:
    return Row(frozenset(units), {unit: frozenset(up.split()) for unit, up in inside.items()})


ROOT = "__init__"
TABLE = (
    row("core"),
    row("protos"),
    row("io"),
    row("errors", "records"),
    row("graph"),
    row("ops"),
    row("graph.lowering"),
    row("pipeline.values", "pipeline.paths"),
    row("pipeline.functions"),
    row("pipeline.workers", "pipeline.native_functions"),
    row("pipeline.stages"),
    row("pipeline.sources"),
    row("pipeline.plan"),
    row("pipeline.run"),
    row("pipeline.outputs", "pipeline.writing"),
    row("pipeline"),
    row("tf1.protos", "tf1.queues"),
    row("tf1.tensor_bundle"),
    row("tf1.gfile", "tf1.ops", "tf1.coordinator"),
    row("tf1.session"),
    row(
        *("tf1.queue_runners", "tf1.graph_dependencies", "tf1.input"),
        *("tf1.saver", "tf1.checkpoint", "tf1.events"),
        **{
            "tf1.graph_dependencies": "tf1.queue_runners",
            "tf1.input": "tf1.queue_runners",
            "tf1.saver": "tf1.queue_runners",
        },
    ),
    row("tf1.graph_import"),
    row("tf1.training"),
    row("tf1"),
    row("read_service"),
    row("ray"),
    row("testing"),
    row("demo"),
    row("cli"),
    row("__main__"),
)
# The two faces know nothing of each other.
STRANGERS = (
    ("tf1", "pipeline"),
    *((unit, "tf1") for unit in ("pipeline", "read_service", "ray", "testing", "demo", "cli")),
)
# Besides the front, this alone imports `headrace.tf1`: it reads its files for commands.
MAY_IMPORT_TF1 = "headrace.cli.inspect.tensorflow1_files"
NATIVE = "_native"
# Operations need one number of the machine, and stand above the engine.
MAY_IMPORT_NATIVE = frozenset({"headrace.core.engine", "headrace.core.allocation_guard"})
# Commands, TensorFlow's large namespace and protocol buffers are loaded when they are first used,
# for start-up time, worker processes and writers when a pipeline asks for them, and so are names
# of `headrace.pipeline`, of which a worker process needs few.
MAY_IMPORT_LATE = (
    *("headrace.pipeline.plan.function_planning", "headrace.pipeline.workers.iterator_pool"),
    *("headrace.pipeline.pipeline", "headrace.pipeline.writing.tfrecord"),
    "headrace.pipeline.workers.main_module",
    *("headrace.__init__", "headrace.pipeline.__init__"),
    *("headrace.cli.", "headrace.tf1.__init__"),
    *("headrace.graph.graph", "headrace.graph.nodes", "headrace.tf1.session.session"),
)


# The demo imports headrace as users do: `import headrace as hr`.
MAY_IMPORT_FRONT = frozenset({"demo"})


class Import(NamedTuple):
    line: int
    target: str
    is_late: bool


def row_of(unit: str) -> int | None:
    return next((i for i, row in enumerate(TABLE) if unit in row.units), None)


def unit_of(module: str) -> str:
    """Returns the unit of the table that a module under `headrace` belongs to.

    The longest that fits; where none does, the package or module directly under `headrace`.
    """
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if row_of(name) is not None), parts[0])


def is_allowed(source: str, target: str) -> bool:
    """Returns whether a unit may import another, both in the table."""
    if source == target:
        return True
    if source == ROOT:  # The package's front: the faces and what they are made of.
        return row_of(target) <= row_of("testing")
    if (source.split(".", maxsplit=1)[0], target.split(".", maxsplit=1)[0]) in STRANGERS:
        return False
    if row_of(source) == row_of(target):
        return target in TABLE[row_of(source)].inside.get(source, ())
    return row_of(target) < row_of(source)


def imports_of(tree: ast.AST, modules: frozenset[str]) -> Iterator[Import]:
    """Yields every import of a module or name of `headrace`, and every relative import."""
    late = within(tree, lambda node: isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            submodules = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in modules else base for name in submodules]
        else:
            continue
        for name in sorted(set(names)):
            yield Import(node.lineno, name, node in late)


def within(tree: ast.AST, is_block: Callable[[ast.AST], bool]) -> set[ast.AST]:
    """Returns all nodes inside of certain blocks."""
    return {child for node in ast.walk(tree) if is_block(node) for child in ast.walk(node)}


def problems(sources: dict[str, str]) -> list[str]:
    """Checks modules, given as source text by dotted name; a package ends in ``.__init__``."""
    modules = frozenset(name.removesuffix(".__init__") for name in sources) | {f"headrace.{NATIVE}"}
    found = []
    for name, text in sorted(sources.items()):
        unit = unit_of(name.removeprefix("headrace."))
        if unit != ROOT and row_of(unit) is None:
            found.append(f"{name}: '{unit}' is not in the layer table")
            continue
        for line, target, is_late in imports_of(ast.parse(text), modules):
            if reason := problem(name, unit, target, is_late):
                found.append(f"{name}:{line}: {reason}")
    return found


def problem(name: str, unit: str, target: str, is_late: bool) -> str | None:  # noqa: PLR0911
    if is_late and not f"{name}.".startswith(MAY_IMPORT_LATE) and name not in MAY_IMPORT_LATE:
        return f"imports {target} inside a function"
    if target.startswith("."):
        return f"imports {target}, which is relative"
    package, _, rest = target.partition(".")
    if package != "headrace":
        return None
    other = unit_of(rest)
    if not other:
        if unit in MAY_IMPORT_FRONT:
            return None
        return "imports from headrace itself, name the module"
    if other == NATIVE:
        return (
            None
            if name in MAY_IMPORT_NATIVE
            else f"imports {target}, only core.engine and core.allocation_guard may"
        )
    if row_of(other) is None:
        return f"imports {target}: '{other}' is not in the layer table"
    if name == MAY_IMPORT_TF1 and other.partition(".")[0] == "tf1":
        return None
    return None if is_allowed(unit, other) else f"imports {target}, which is not above it"


def cycle(sources: dict[str, str]) -> list[str]:
    """Returns modules that import each other in a circle, or nothing.

    Imports for types count, those inside functions too, except where they may be late.
    """
    modules = {name.removesuffix(".__init__"): text for name, text in sources.items()}
    graph = {
        name: {
            imported.target
            for imported in imports_of(ast.parse(text), frozenset(modules))
            if imported.target in modules and not (imported.is_late and may_import_late(name))
        }
        for name, text in modules.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def may_import_late(name: str) -> bool:
    return any(f"{name}{end}".startswith(MAY_IMPORT_LATE) for end in (".", ".__init__"))


@pytest.fixture(scope="module")
def package() -> dict[str, str]:
    """The source of every module by its name."""
    return {
        ".".join(path.relative_to(import_root).with_suffix("").parts): path.read_text("utf-8")
        for path in (import_root / "headrace").rglob("*.py")
    }


def test_the_package_follows_the_layer_table(package):
    assert len(package) > 1
    assert problems(package) == []


@pytest.mark.parametrize("unit", ["records", "errors", "io.storage", "core.engine"])
def test_modules_that_need_no_graph_do_not_load_it(unit):
    program = (
        f"import sys, headrace.{unit}\n"
        "above = ('headrace.graph', 'headrace.ops', 'headrace.tf1')\n"
        "print([name for name in sys.modules if name.startswith(above)])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert loaded.strip() == "[]"


def test_the_pipeline_wing_loads_nothing_of_tensorflow_1(package):
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


def test_only_tests_of_tensorflow_1_import_it():
    top = Path(__file__).parent
    importing = [
        str(path.relative_to(top))
        for path in sorted(top.rglob("*.py"))
        if path.relative_to(top).parts[0] not in ("tf1", "typing")  # Types are checked together.
        and re.search(r"^\s*(import|from) (headrace|tests)\.tf1\b", path.read_text("utf-8"), re.M)
    ]
    assert importing == []


def test_no_modules_import_each_other_in_a_circle(package):
    assert cycle(package) == []


def test_a_circle_of_imports_is_found():
    sources = {
        "headrace.ops.array": "from headrace.ops import math",
        "headrace.ops.math": "import headrace.ops.array",
        "headrace.cli.main": "def late():\n    import headrace.cli.main",
    }
    assert set(cycle(sources)) == {"headrace.ops.array", "headrace.ops.math"}


def test_a_circle_of_types_is_one_too():
    sources = {
        "headrace.graph.nodes": "if TYPE_CHECKING:\n    from headrace.graph.graph import Graph",
        "headrace.graph.graph": "from headrace.graph.nodes import Operation",
        "headrace.core.shapes": "",
    }
    assert set(cycle(sources)) == {"headrace.graph.nodes", "headrace.graph.graph"}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (
            {"headrace.graph.nodes": "from headrace.graph.lowering import feeding"},
            "headrace.graph.nodes:1: imports headrace.graph.lowering, which is not above it",
        ),
        (
            {"headrace.graph": "import headrace.tf1.session"},
            "headrace.graph:1: imports headrace.tf1.session, which is not above it",
        ),
        (
            {"headrace.graph": "from headrace.tf1 import session", "headrace.tf1.session": ""},
            "headrace.graph:1: imports headrace.tf1.session, which is not above it",
        ),
        (
            {"headrace.tf1.session": "\nfrom headrace import Session"},
            "headrace.tf1.session:2: imports from headrace itself, name the module",
        ),
        (
            {"headrace.tf1.train": "import headrace.pipeline.run"},
            "headrace.tf1.train:1: imports headrace.pipeline.run, which is not above it",
        ),
        (
            {"headrace.read_service": "import headrace.tf1.session"},
            "headrace.read_service:1: imports headrace.tf1.session, which is not above it",
        ),
        (
            {"headrace.cli.main": "def main():\n    import headrace.tf1.session"},
            "headrace.cli.main:2: imports headrace.tf1.session, which is not above it",
        ),
        (
            {"headrace.tf1.coordinator": "import headrace.tf1.queue_runners"},
            "headrace.tf1.coordinator:1: imports headrace.tf1.queue_runners, which is not above it",
        ),
        (
            {"headrace.__init__": "import headrace.demo"},
            "headrace.__init__:1: imports headrace.demo, which is not above it",
        ),
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
            {"headrace.ops.array": "from .math import add"},
            "headrace.ops.array:1: imports .math, which is relative",
        ),
        (
            {"headrace.records": "def run():\n    import numpy"},
            "headrace.records:2: imports numpy inside a function",
        ),
        (
            {"headrace.misc": ""},
            "headrace.misc: 'misc' is not in the layer table",
        ),
        (
            {"headrace.records": "from headrace.misc import x"},
            "headrace.records:1: imports headrace.misc: 'misc' is not in the layer table",
        ),
    ],
)
def test_a_violation_is_named_with_its_line(sources, expected):
    assert problems(sources) == [expected]


@pytest.mark.parametrize(
    "sources",
    [
        {"headrace.tf1.session": "import numpy\nfrom headrace.graph.nodes import Graph"},
        {"headrace.ops.array": "from headrace.ops.math import add"},
        {"headrace.tf1.queue_runners": "from headrace.tf1.coordinator import Coordinator"},
        {"headrace.core.engine": "from headrace import _native"},
        {"headrace.__init__": "from headrace.pipeline import files"},
        {"headrace.cli.main": "def main():\n    import headrace.cli.commands"},
        {"headrace.demo.train": "import headrace as hr"},
        {"headrace.tf1.__init__": "def __getattr__(name):\n    import headrace.tf1.train"},
    ],
)
def test_imports_that_the_table_allows_pass(sources):
    assert problems(sources) == []
