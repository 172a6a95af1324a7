"""The site's page of TensorFlow 1 names: supported and missing names.

.venv/bin/python -m tools.docs.supported           # prints the page
.venv/bin/python -m tools.docs.supported --check   # makes the page, and prints nothing

The page begins with docs/tf1/supported.md. Supported names come from the modules themselves, and
missing names from the list used for error messages.
"""

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import headrace.tf1 as tf
from headrace.tf1.missing import _missing_names, remedy_for

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs/tf1/supported.md"
# The last paragraph of docs/tf1/supported.md says how to build the page, and is omitted.
BUILT = "`make docs` builds"


def page() -> str:
    """Returns the text of the page."""
    here = dict(spaces("tf", tf))
    lacking = missing()
    lines = ["| module | here | not here |", "|---|--:|--:|"]
    for space in sorted(here.keys() | lacking.keys()):
        count = len(here.get(space, {})), sum(map(len, lacking.get(space, {}).values()))
        lines.append(f"| {_linked(space)} | {count[0]} | {count[1]} |")
    lines.append("")
    for space in sorted(here.keys() | lacking.keys()):
        lines += [f"## {space}", ""]
        lines += _table(here[space]) if space in here else []
        for remedy, names in sorted(lacking.get(space, {}).items()):
            listed = ", ".join(f"`{name}`" for name in sorted(names))
            lines += [f"Not here: {listed}.", f"*{remedy}*", ""]
    head = PAGE.read_text("utf-8").partition(BUILT)[0]
    return head + "\n".join(lines)


def spaces(space: str, module: ModuleType) -> Iterator[tuple[str, dict[str, object]]]:
    """Yields a module and its submodules, each as its name in programs and a dict of its names."""
    names = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    inner = {name: item for name, item in names.items() if _is_own_module(item)}
    if names.keys() - inner.keys():
        yield space, {name: item for name, item in names.items() if name not in inner}
    for name, item in inner.items():
        if item is not tf:
            yield from spaces(f"{space}.{name}", item)


def _is_own_module(item: object) -> TypeGuard[ModuleType]:
    """Returns whether a name is a headrace module. `tf.test.mock`, for example, is Python's."""
    return isinstance(item, ModuleType) and item.__name__.startswith("headrace.")


def missing() -> dict[str, dict[str, list[str]]]:
    """Returns the missing names, by module and by replacement."""
    result: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(_missing_names()):
        space, _, name = f"tf.{path}".rpartition(".")
        result[space][remedy_for(path) or ""].append(name)
    return result


def _table(names: dict[str, object]) -> list[str]:
    rows = [f"| `{name}` | {_meaning(item)} |" for name, item in sorted(names.items())]
    return ["| name | what it is |", "|---|---|", *rows, ""]


def _meaning(item: object) -> str:
    """Returns a docstring's first sentence, formatted for a table, or the type of a value."""
    if isinstance(item, ModuleType):
        return f"The module `{item.__name__}`."
    if not callable(item) or isinstance(item, tf.DType):
        return f"`{item!r}`".replace("|", "\\|")
    text = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    if text == "A ProtocolMessage":  # Protocol buffers have a generic docstring.
        return "A protocol buffer message."
    return text.replace("|", "\\|")


def _linked(space: str) -> str:
    return f"[`{space}`](#{space.lower().replace('.', '')})"


def main(arguments: list[str]) -> int:
    """Prints the page."""
    text = page()
    if "--check" not in arguments:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
