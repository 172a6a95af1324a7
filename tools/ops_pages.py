"""Writes docs/ops/<family>.md: the operations of each family, from their docstrings.

.venv/bin/python tools/ops_pages.py           # writes the pages
.venv/bin/python tools/ops_pages.py --check   # says which pages are out of date
"""

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import headrace.ops
import headrace.tf1 as tf
import headrace.tf1.ops

TOP = Path(__file__).parents[1]
PAGES = TOP / "docs" / "ops"
_MODULES = (name for name in dir(tf) if isinstance(getattr(tf, name), ModuleType))
NAMESPACES = ("", *sorted([*_MODULES, "contrib.image"]))


def families() -> dict[str, ModuleType]:
    """Returns the package of each family of operations."""
    packages = (headrace.ops, headrace.tf1.ops)
    return {
        room.name: import_module(f"{package.__name__}.{room.name}")
        for package in packages
        for room in pkgutil.iter_modules(package.__path__)
        if room.ispkg and room.name != "framework"
    }


def page(family: str, room: ModuleType) -> str:
    """Returns the text of a family's page."""
    folder = room.__name__.replace(".", "/")
    tests = folder.removeprefix("headrace/")
    lines = [f"# {family.capitalize()}", "", (room.__doc__ or "").strip().split("\n\n")[0], ""]
    lines += [
        f"Each row names its file in `python/{folder}/`. If the engine computes the operation,",
        f"its kernel is in `crates/engine/src/kernels/{family}/`. Tests are in `tests/{tests}/`.",
        "`make docs` writes this page.",
        "",
        "| file | `headrace.tf1` | what it does |",
        "|---|---|---|",
    ]
    for stem, name, function in functions(room):
        lines.append(f"| {stem} | {names_of(name, function)} | {first_line(function)} |")
    return "\n".join([*lines, ""])


def functions(room: ModuleType) -> Iterator[tuple[str, str, object]]:
    """Gives (file, name, function or class) of everything public that a family's modules define."""
    for module in sorted(pkgutil.iter_modules(room.__path__), key=lambda item: item.name):
        content = import_module(f"{room.__name__}.{module.name}")
        for name in sorted(getattr(content, "__all__", ())):
            item = getattr(content, name)
            if getattr(item, "__module__", None) == content.__name__ and inspect.getdoc(item):
                yield module.name, name, item


def names_of(name: str, item: object) -> str:
    """The names that an operation has in `headrace.tf1`, or its own name and where it is."""
    found = []
    for space in NAMESPACES:
        module = attrgetter(space)(tf) if space else tf
        found += [
            f"`{space}.{other}`" if space else f"`{other}`"
            for other in module.__all__
            if getattr(module, other) is item
        ]
    packages = (package for package in (headrace.ops, headrace.tf1.ops) if name in package.__all__)
    place = next(packages, sys.modules[getattr(item, "__module__", "headrace.ops")])
    return ", ".join(found) or f"(`{place.__name__}`: `{name}`)"


def first_line(item: object) -> str:
    """The first sentence of a docstring, fit for a table."""
    text = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"\|", r"\\|", text)


def main(arguments: list[str]) -> int:
    """Writes the pages, or says which ones would change."""
    texts = {PAGES / f"{family}.md": page(family, room) for family, room in families().items()}
    if "--check" not in arguments:
        PAGES.mkdir(exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, "utf-8")
        return 0
    old = [
        path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in old:
        print(f"{path.relative_to(TOP)} is out of date. Run `make docs`.", file=sys.stderr)
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
