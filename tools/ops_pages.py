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

TOP = Path(__file__).parents[1]
PAGES = TOP / "docs" / "ops"
_MODULES = (name for name in tf.__all__ if isinstance(getattr(tf, name), ModuleType))
NAMESPACES = ("", *sorted([*_MODULES, "contrib.image"]))


def families() -> list[str]:
    """Returns the rooms of `headrace.ops`, without that of the machinery."""
    rooms = pkgutil.iter_modules(headrace.ops.__path__)
    return sorted(room.name for room in rooms if room.ispkg and room.name != "framework")


def page(family: str) -> str:
    """Returns the text of a family's page."""
    room = import_module(f"headrace.ops.{family}")
    lines = [f"# {family.capitalize()}", "", (room.__doc__ or "").strip().split("\n\n")[0], ""]
    lines += [
        f"Each row names its file: `{family}/<file>` in `python/headrace/ops/`, in "
        "`crates/engine/src/kernels/` if the engine",
        "computes it, and `test_<file>` in `tests/ops/`. `make docs` writes this page.",
        "",
        "| file | `headrace.tf1` | what it does |",
        "|---|---|---|",
    ]
    for stem, name, function in functions(family):
        lines.append(f"| {stem} | {names_of(name, function)} | {first_line(function)} |")
    return "\n".join([*lines, ""])


def functions(family: str) -> Iterator[tuple[str, str, object]]:
    """Gives (file, name, function or class) of everything public that a family's modules define."""
    room = import_module(f"headrace.ops.{family}")
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
    place = "headrace.ops" if hasattr(headrace.ops, name) else getattr(item, "__module__", "")
    return ", ".join(found) or f"(`{place}`: `{name}`)"


def first_line(item: object) -> str:
    """The first sentence of a docstring, fit for a table."""
    text = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"\|", r"\\|", text)


def main(arguments: list[str]) -> int:
    """Writes the pages, or says which ones would change."""
    texts = {PAGES / f"{family}.md": page(family) for family in families()}
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
