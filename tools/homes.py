"""Writes the modules `homes.py`, which have the home of each name of a package.

.venv/bin/python -m tools.homes           # writes them
.venv/bin/python -m tools.homes --check   # says which are not as they should be

The names are those that the package's `__init__.py` imports for type checkers.
"""

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "python"
MODULES = ("headrace.ops", "headrace.tf1.ops", "headrace.tf1")
WIDTH = 100


class Home(NamedTuple):
    """Where a name is defined; `attribute` is empty for a module."""

    module: str
    attribute: str


def path_of(module: str) -> Path:
    """Returns the directory of a package, or the path of a module without its suffix."""
    return PACKAGE / module.replace(".", "/")


def public_names(module: str) -> list[str]:
    """Returns the names that a module lists in `__all__`. The module is not imported."""
    tree = ast.parse(path_of(module).with_suffix(".py").read_text("utf-8"))
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
    raise ValueError(f"{module} has no list of its names")


def homes_of(module: str) -> dict[str, Home]:
    """Returns the home of each name that a package has for type checkers."""
    tree = ast.parse((path_of(module) / "__init__.py").read_text("utf-8"))
    names: dict[str, Home] = {}
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for statement in block.body:
                names |= dict(names_in(statement, names))
    return {name: home for name, home in names.items() if not name.startswith("_")}


def names_in(statement: ast.stmt, names: dict[str, Home]) -> Iterator[tuple[str, Home]]:
    """Yields the names that an import or an assignment adds to some names."""
    match statement:
        case ast.ImportFrom(module=str(source), names=[ast.alias(name="*")]):
            for name in public_names(source):
                yield name, Home(source, name)
        case ast.ImportFrom(module=str(source), names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name, home_of(source, alias.name)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=source)):
            yield name, names[source]
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Attribute(value=ast.Name(id=source), attr=attr)
        ):
            yield name, Home(names[source].module, attr)
        case _:
            raise ValueError(f"line {statement.lineno}: neither an import nor an alias")


def home_of(source: str, name: str) -> Home:
    """Returns the home of a name that is imported from a module: another module, or its own."""
    path = path_of(f"{source}.{name}")
    is_module = path.is_dir() or path.with_suffix(".py").exists()
    return Home(f"{source}.{name}", "") if is_module else Home(source, name)


def text_of(module: str) -> str:
    """Returns the text of the module `homes` of a package."""
    groups: dict[str, list[str]] = {}
    for name, home in sorted(homes_of(module).items()):
        if home.attribute:
            word = name if name == home.attribute else f"{name}={home.attribute}"
            groups.setdefault(home.module, []).append(word)
        else:
            groups.setdefault("", []).append(f"{name}={home.module}")
    modules = [word.partition("=")[0] for word in groups.get("", [])]
    lines = [
        f'"""The home of each name of `{module}`, which `python -m tools.homes` writes."""',
        "",
        "from typing import Final",
        "",
        "from headrace.core.exports import homes",
        "",
        '__all__ = ["HOMES", "MODULES"]' if modules else '__all__ = ["HOMES"]',
        "",
        "HOMES: Final = homes(",
        "    {",
    ]
    for home, words in sorted(groups.items()):
        line = f'        "{home}": "{" ".join(words)}",'
        if len(line) <= WIDTH:
            lines.append(line)
            continue
        pieces = textwrap.wrap(
            " ".join(words), WIDTH - 15, break_long_words=False, break_on_hyphens=False
        )
        lines += [
            f'        "{home}": (',
            *(f'            "{piece} "' for piece in pieces[:-1]),
            f'            "{pieces[-1]}"',
            "        ),",
        ]
    lines += ["    }", ")"]
    if modules:
        lines.append(
            'MODULES: Final = frozenset(name for name, home in HOMES.items() if home[-1] == ":")'
        )
    return "\n".join([*lines, ""])


def main() -> int:
    """Writes the modules, or says which are not as they should be."""
    status = 0
    for module in MODULES:
        path, text = path_of(module) / "homes.py", text_of(module)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            print(f"{path} is out of date. Run python -m tools.homes.")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
