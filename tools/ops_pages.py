"""Generates the site's pages of TensorFlow 1 operations, by family, from docstrings.

.venv/bin/python tools/ops_pages.py           # prints the pages
.venv/bin/python tools/ops_pages.py --check   # makes the pages, and prints nothing
"""

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter, itemgetter
from types import ModuleType

import headrace.ops
import headrace.tf1 as tf
from headrace.tf1 import ops as tf1_ops

_MODULES = (name for name in dir(tf) if isinstance(getattr(tf, name), ModuleType))
# Pipelines import this module's definitions without the operations.
_BELOW = "headrace.core.features"
NAMESPACES = ("", *sorted([*_MODULES, "contrib.image"]))


def families() -> dict[str, list[ModuleType]]:
    """Returns each family's packages: for all operations, and for operations of graphs only."""
    rooms: dict[str, list[ModuleType]] = {}
    for package in (headrace.ops, tf1_ops):
        for room in pkgutil.iter_modules(package.__path__):
            if room.ispkg and room.name != "framework":
                module = import_module(f"{package.__name__}.{room.name}")
                rooms.setdefault(room.name, []).append(module)
    return rooms


def page(family: str, rooms: list[ModuleType]) -> str:
    """Returns the text of a family's page."""
    lines = [f"# {family.capitalize()}", "", description(rooms).split("\n\n")[0], ""]
    lines += ["| `headrace.tf1` | what it does |", "|---|---|"]
    for name, function in sorted(functions(rooms), key=itemgetter(0)):
        lines.append(f"| {names_of(name, function)} | {first_line(function)} |")
    return "\n".join([*lines, ""])


def description(rooms: list[ModuleType]) -> str:
    """Returns the docstring of a family's first package."""
    return (rooms[0].__doc__ or "").strip()


def functions(rooms: list[ModuleType]) -> Iterator[tuple[str, object]]:
    """Yields (name, function or class) for every public definition in a family's modules."""
    modules = [
        (module.name, f"{room.__name__}.{module.name}")
        for room in rooms
        for module in pkgutil.iter_modules(room.__path__)
    ]
    for _, module_name in sorted(modules):
        content = import_module(module_name)
        for name in sorted(getattr(content, "__all__", ())):
            item = getattr(content, name)
            home = getattr(item, "__module__", None)
            if home in (content.__name__, _BELOW) and inspect.getdoc(item):
                yield name, item


def spellings(item: object) -> list[str]:
    """Returns an operation's names in programs, such as `tf.image.decode_jpeg`."""
    results = []
    for space in NAMESPACES:
        module = attrgetter(space)(tf) if space else tf
        head = f"tf.{space}" if space else "tf"
        results += [f"{head}.{name}" for name in module.__all__ if getattr(module, name) is item]
    return results


def names_of(name: str, item: object) -> str:
    """Returns an operation's names in `headrace.tf1`, or its own name and module if it has none."""
    packages = (package for package in (headrace.ops, tf1_ops) if name in package.__all__)
    position = next(packages, sys.modules[getattr(item, "__module__", "headrace.ops")])
    results = [f"`{written.removeprefix('tf.')}`" for written in spellings(item)]
    return ", ".join(results) or f"(`{position.__name__}`: `{name}`)"


def first_line(item: object) -> str:
    """Returns a docstring's first sentence, formatted for a table."""
    text = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"\|", r"\\|", text)


def pages() -> dict[str, str]:
    """Returns each page's text by name, such as `ops/array.md`."""
    return {f"ops/{family}.md": page(family, rooms) for family, rooms in sorted(families().items())}


def contents() -> str:
    """Returns the page that lists the pages."""
    rows = [
        f"| [{family}](ops/{family}.md) | {description(rooms).partition(chr(10))[0]} |"
        for family, rooms in sorted(families().items())
    ]
    return "\n".join(["# Operations of TensorFlow 1", "", "| family | |", "|---|---|", *rows, ""])


def main(arguments: list[str]) -> int:
    """Prints the pages."""
    text = "\n".join(pages().values())
    if "--check" not in arguments:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
