"""Modules of crates import only from the layers above them."""

import graphlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
CRATES = TOP / "crates"
# Crates whose README has a layer table.
LAYERED = ("engine", "pipeline", "tf1")
# Parts of a source that are not code, and the tests at its end.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"', re.DOTALL)
VISIBILITY = re.compile(r"\bpub\([^)]*\)")
TESTS = re.compile(r"^#\[cfg\(test\)\]\s*mod \w+ \{", re.MULTILINE)
USE = re.compile(r"(\bpub )?\buse ([^;]+);")
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
TEST_MODULES = frozenset({"tests", "testing"})

Module = tuple[str, ...]


def code_of(text: str) -> str:
    """Returns the code of a source, without comments, strings and the tests at its end."""
    code = VISIBILITY.sub("pub", NO_CODE.sub(" ", text))
    tests = TESTS.search(code)
    return code[: tests.start()] if tests else code


def expanded(path: str) -> Iterator[str]:
    """Yields each path of a group, such as `a::b` and `a::c` of `a::{b, c}`."""
    head, brace, group = path.partition("::{")
    if not brace:
        yield path.split(" as ", maxsplit=1)[0].strip()
        return
    parts, depth = [""], 0
    for letter in group.rstrip().removesuffix("}"):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    for part in parts:
        if part.strip():
            yield from expanded(f"{head}::{part.strip()}")


def used(code: str, *, is_public: bool) -> Iterator[str]:
    """Yields the paths of `use` or of `pub use`."""
    for public, paths in USE.findall(code):
        if bool(public) == is_public:
            yield from expanded(" ".join(paths.split()))


def absolute(path: str, module: Module) -> Module:
    """Returns the path from the crate's root of a path in `module`."""
    parts = path.split("::")
    if parts[0] == "crate":
        return tuple(parts[1:])
    base = list(module)
    while parts and parts[0] in ("super", "self"):
        if parts.pop(0) == "super":
            base.pop()
    return (*base, *parts)


def re_exports(module: Module, code: str) -> dict[str, Module]:
    """Returns the names that a module re-exports, each with its path."""
    results = {}
    for path in used(code, is_public=True):
        # A path without a beginning is one of a child.
        target = absolute(path if PATH.match(path) else f"self::{path}", module)
        results[target[-1]] = target
    return results


def imports(sources: Mapping[str, str]) -> dict[Module, set[Module]]:
    """Returns the modules that each module imports, except itself.

    A re-exported name counts as one of the module that defines it; the re-export itself does not
    count.

    Args:
        sources: The text of each module by its path, `a::b`; the root is the empty string.
    """
    codes = {tuple(filter(None, name.split("::"))): code_of(text) for name, text in sources.items()}
    names = {module: re_exports(module, code) for module, code in codes.items()}

    def definer(path: Module) -> Module:
        module = path
        while module not in codes:
            module = module[:-1]
        rest = path[len(module) :]
        if rest and rest[0] in names[module]:
            return definer((*names[module][rest[0]], *rest[1:]))
        return module

    results = {}
    for module, code in codes.items():
        paths = [path for path in used(code, is_public=False) if PATH.match(path)]
        paths += PATH.findall(USE.sub(" ", code))
        results[module] = {definer(absolute(path, module)) for path in paths} - {module}
    return results


def circles(sources: Mapping[str, str]) -> list[str]:
    """Returns modules that import each other in a circle, or nothing.

    A module may use its own children.
    """
    graph = {
        module: {target for target in targets if target[: len(module)] != module}
        for module, targets in imports(sources).items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return ["::".join(module) for module in error.args[1]]
    return []


def table_of(page: str) -> list[list[str]]:
    """Returns the rows of a crate's layer table, each with its modules."""
    section = page.partition("\n## Layers\n")[2].partition("\n#")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith(("| `", "| [`"))]
    return [re.findall(r"`(\w+)`", row) for row in rows]


def problems(sources: Mapping[str, str], table: list[list[str]]) -> list[str]:
    """Checks that imports between the top modules point up the table."""
    row_of = {module: number for number, row in enumerate(table) for module in row}
    results = []
    for module, targets in sorted(imports(sources).items()):
        if not module:
            continue
        if module[0] not in row_of:
            results.append(f"{'::'.join(module)}: '{module[0]}' is not in the layer table")
            continue
        for target in sorted(targets):
            if not target or target[0] == module[0]:
                continue
            if row_of.get(target[0], len(table)) >= row_of[module[0]]:
                names = ["::".join(path) for path in (module, target)]
                results.append(f"{names[0]}: imports {names[1]}, which is not above it")
    return results


def modules_of(crate: str) -> dict[str, str]:
    """Returns the source of every module of a crate by its path, without those of tests."""
    results = {}
    root = CRATES / crate / "src"
    for path in root.rglob("*.rs"):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        if not TEST_MODULES.intersection(parts):
            results["::".join(parts)] = path.read_text("utf-8")
    return results


def layers_of(crate: str) -> list[list[str]]:
    """Returns the layer table of a crate's README."""
    return table_of((CRATES / crate / "src" / "README.md").read_text("utf-8"))


@pytest.mark.parametrize("crate", LAYERED)
def test_crate_follows_its_layer_table(crate):
    assert len(modules_of(crate)) > 1
    assert problems(modules_of(crate), layers_of(crate)) == []


@pytest.mark.parametrize("crate", LAYERED)
def test_layer_table_names_each_top_module_once(crate):
    named = [module for row in layers_of(crate) for module in row]
    assert sorted(named) == sorted({name.split("::")[0] for name in modules_of(crate)} - {""})


@pytest.mark.parametrize(
    "crate", ["engine", "fuzz_targets", "jpeg", "pipeline", "python", "remote", "tf1"]
)
def test_modules_of_a_crate_have_no_import_cycles(crate):
    assert len(modules_of(crate)) > 1
    assert circles(modules_of(crate)) == []


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::B;", "b": "use crate::a::A;"},
        {"a": "use crate::b::B;", "b": "fn f() { super::a::g() }"},
        {"a": "use crate::{c::C, b::{B, D}};", "b": "use crate::a;", "c": ""},
        {"a::x": "use super::y::Y;", "a::y": "use super::x::X;", "a": "mod x;\nmod y;"},
        {"a": "use crate::{c::{C, D}, b::B};", "b": "use crate::a::A;", "c": ""},
        # Through a name that the parent re-exports.
        {"a": "pub use x::X;\nmod x;", "a::x": "use crate::b::B;", "b": "use crate::a::X;"},
        {"a": "use crate::b::B;", "b": "use crate::c::C;", "c": "use crate::a::A;"},
    ],
)
def test_module_cycle_is_detected(sources):
    assert set(circles({"": "", **sources})) <= set(sources)
    assert len(circles({"": "", **sources})) > 1


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::B;", "b": "/// See [`A`](crate::a::A).\nuse std::fmt;"},
        {"a": "use crate::b::B;", "b": "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"},
        {"a": "use crate::b::B;", "b": "pub(crate) struct B;\npub(in crate::a) struct C;"},
        {"a": "use crate::b::B;", "b": 'const TEXT: &str = "crate::a::A";'},
        {"a": "mod x;\nuse x::X;\nuse crate::a::x::Y;", "a::x": "use super::A;"},
        # A parent that re-exports names of its child.
        {"a": "pub use x::X;\nmod x;", "a::x": "use super::A;"},
        {"a": "pub use x::X;\nmod x;\nmod y;", "a::x": "", "a::y": "use super::X;"},
    ],
)
def test_imports_without_a_cycle_pass(sources):
    assert circles({"": "", **sources}) == []


TABLE = [["error"], ["tensor", "sync"], ["kernels"]]


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        ("tensor", "use crate::kernels::Kernel;", "imports kernels, which is not above it"),
        ("tensor::view", "use crate::sync::Mutex;", "imports sync, which is not above it"),
        ("error", "fn f() { crate::tensor::g() }", "imports tensor, which is not above it"),
        ("other", "", "'other' is not in the layer table"),
    ],
)
def test_downward_import_is_reported(module, text, expected):
    sources = {"": "", "error": "", "tensor": "", "sync": "", "kernels": "", module: text}
    assert problems(sources, TABLE) == [f"{module}: {expected}"]


def test_upward_imports_pass():
    sources = {
        "": "pub mod error;",
        "error": "use std::fmt;",
        "tensor::view": "use super::Tensor;\nuse crate::error::Error;",
        "tensor": "mod view;",
        "kernels": "use crate::tensor::Tensor;",
    }
    assert problems(sources, TABLE) == []


def test_layer_table_is_parsed_from_a_page():
    page = (
        "## Rooms\n\n| room |\n|---|\n| `core` | errors |\n\n## Layers\n\nText.\n\n"
        "| modules | hold |\n|---|---|\n| `error`, `order` | `Error` |\n"
        "| [`tensor`](tensor/README.md) | x |\n\n"
        "## Next\n| `other` | x |\n"
    )
    assert table_of(page) == [["error", "order"], ["tensor"]]


def test_lock_file_of_the_fuzz_targets_has_all_dependencies_of_the_crates():
    """It is a separate workspace, which a build of the crates does not update."""
    lock = tomllib.loads((TOP / "fuzz" / "Cargo.lock").read_text())
    needs = {one["name"]: one.get("dependencies", []) for one in lock["package"]}
    for manifest in sorted(CRATES.glob("*/Cargo.toml")):
        crate = tomllib.loads(manifest.read_text())
        if (name := crate["package"]["name"]) not in needs:
            continue
        expected = {
            arguments.get("package", key) if isinstance(arguments, dict) else key
            for key, arguments in crate.get("dependencies", {}).items()
            if not (isinstance(arguments, dict) and arguments.get("optional"))
        }
        missing = expected - {need.split()[0] for need in needs[name]}
        assert not missing, f"run `cargo metadata` in fuzz/: {name} needs {sorted(missing)}"
