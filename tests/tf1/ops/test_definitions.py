"""One definition for each operation, and one stem for it in Python, in Rust and in the tests."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
import headrace.tf1 as tf
from headrace.graph import KernelKind, Role, define, definition_of
from headrace.graph.op_def import _definitions
from headrace.tf1 import ops as tf1_ops

TOP = Path(__file__).parents[3]
OPS = (TOP / "python/headrace/ops", TOP / "python/headrace/tf1/ops")
TESTS = (TOP / "tests/ops", TOP / "tests/tf1/ops")
KERNELS = [TOP / "crates" / crate / "src" / "kernels" for crate in ("engine", "tf1")]
FAMILIES = sorted(
    {
        path.name
        for ops in OPS
        for path in ops.iterdir()
        if (path / "__init__.py").exists() and path.name != "framework"
    }
)


def python_stems() -> dict[str, str]:
    """Finds for each type `family/stem` of the module that defines it."""
    results: dict[str, str] = {}
    for ops, path in [(place, path) for place in OPS for path in sorted(place.rglob("*.py"))]:
        for op_type in re.findall(r'\bdefine\(\s*"(\w+)"', path.read_text("utf-8")):
            assert op_type not in results, f"{op_type} is defined twice"
            results[op_type] = "/".join(path.relative_to(ops).with_suffix("").parts)
    return results


def rust_stems() -> dict[str, set[str]]:
    """Returns, for each type with a kernel, `family/stem` of every file that mentions it.

    A room's `mod.rs` counts as the module in which the arm of its table makes the kernel.
    """
    results: dict[str, set[str]] = {}
    for kernels, path in files_of_kernels():
        family, *rest = path.relative_to(kernels).with_suffix("").parts
        text = path.read_text("utf-8").split("#[cfg(test)]")[0]
        modules = set(re.findall(r"^(?:pub(?:\(\w+\))? )?mod (\w+);", text, re.MULTILINE))
        for op_types, target in arms_of_tables(text):
            stem = rest[0]
            if rest == ["mod"]:
                outputs = [name for name in re.findall(r"(\w+)::", target) if name in modules]
                assert outputs, f"{path}: {op_types} are made by no module of {family}"
                stem = outputs[0]
            for op_type in op_types:
                results.setdefault(op_type, set()).add(f"{family}/{stem}")
    return results


def files_of_kernels() -> Iterator[tuple[Path, Path]]:
    """Yields the files of all families, each after the folder that holds the families."""
    for kernels in KERNELS:
        yield from ((kernels, path) for path in sorted(kernels.glob("*/**/*.rs")))


def arms_of_tables(text: str) -> Iterator[tuple[list[str], str]]:
    """Finds the arms of each `match op_type`: the types, and the code after the arrow."""
    for table in re.finditer(r"match op_type \{", text):
        depth, end = 1, table.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        body = text[table.end() : end - 1]
        arms = list(re.finditer(r'((?:"\w+"[\s|]*)+|\b_\s*)(?:if [^=]*)?=>', body))
        ends = [arm.start() for arm in arms[1:]] + [len(body)]
        for arm, end_of_arm in zip(arms, ends, strict=True):
            if op_types := re.findall(r'"(\w+)"', arm[1]):
                yield op_types, body[arm.end() : end_of_arm]


def test_operation_has_the_same_stem_in_python_and_rust():
    python = {**python_stems(), **ELSEWHERE}
    differing = {
        op_type: (python.get(op_type), stems)
        for op_type, stems in rust_stems().items()
        if {python.get(op_type)} != stems
    }
    assert differing == {}


def test_every_kernel_table_is_read():
    # Modules are loaded late, and define their operations when they are loaded.
    for package in (hr.ops, tf1_ops):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    read = rust_stems()
    assert set(read) <= set(_definitions)
    assert read["Cast"] == {"math/cast"}
    assert read["QueueEnqueueV2"] == {"queues/queue"}
    assert read["ResizeArea"] == {"image/resize"}
    # All tables use `match op_type`.
    source = "".join(path.read_text("utf-8") for _, path in files_of_kernels())
    arms = {name for name in _definitions if re.search(rf'"{name}"\s*(=>|\|)', source)}
    assert arms == set(read)


# Operations that conversion creates are defined below their family. `where` is a word of Rust.
ELSEWHERE = {"Cast": "math/cast", "Pack": "array/join", "Select": "array/select"}


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_kernels_and_tests(family):
    assert any((kernels / family / "mod.rs").exists() for kernels in KERNELS) or not any(
        stem.startswith(f"{family}/") for stems in rust_stems().values() for stem in stems
    )
    assert [path for tests in TESTS for path in (tests / family).glob("test_*.py")]


@pytest.mark.parametrize("kernels", KERNELS, ids=lambda path: path.parts[-3])
def test_crate_has_no_folders_outside_the_families(kernels):
    assert {path.parent.name for path in kernels.glob("*/mod.rs")} <= set(FAMILIES)


def test_type_can_be_defined_only_once():
    with pytest.raises(ValueError, match="'Add' is already defined"):
        define("Add")


def test_undefined_type_has_only_defaults():
    definition = definition_of("Bogus")
    assert (definition.role, definition.is_stateful, definition.fold) == (
        Role.COMPUTED,
        False,
        None,
    )


def test_definition_selects_the_backend_of_an_operation():
    x = tf.placeholder(tf.float32)
    c = tf.placeholder(tf.complex64)
    computed = {
        (op.type, op.inputs[0].dtype.name): op.definition.computed_by(op)
        for op in (
            tf.add(x, x).op,
            tf.add(c, c).op,
            tf.equal(x, x).op,
            tf.decode_raw("", tf.uint8).op,
        )
    }
    assert computed == {
        ("Add", "float32"): KernelKind.BY_ENGINE,
        ("Add", "complex64"): KernelKind.BY_NUMPY,
        ("Equal", "float32"): KernelKind.BY_EITHER,
        ("DecodeRaw", "string"): KernelKind.BY_ENGINE,
    }
