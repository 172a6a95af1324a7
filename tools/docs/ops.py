"""The operations reference: `hr.ops` pages by group, and entries for TensorFlow 1 operations.

The table in docs/reference/operations.md has the same groups.
"""

import inspect
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from types import ModuleType

from tools.docs.op_types import types_of
from tools.ops_pages import functions, spellings

import headrace.ops

__all__ = ["entry", "family_entries", "operation_pages"]

TABLE = Path(__file__).parents[2] / "docs/reference/operations.md"
# Each group's page and title. A missing group is an error.
GROUPS = {
    "Numbers": "numbers",
    "Comparisons, choices": "comparisons",
    "Reductions": "reductions",
    "Types and shapes": "shapes",
    "Records, strings": "records",
    "Images: files": "image_files",
    "Images: size and place": "image_places",
    "Images: colours": "image_colours",
    "Images: augmentation": "image_augmentation",
    "Sound": "sound",
    "Constants, features of records": "constants",
    "Random": "random",
}
_SECTION = re.compile(r"^(Args|Returns|Raises|Source|Attributes|Yields|Note|Examples):$")
_HEADINGS = {"Args": "Parameters"}


def operation_pages() -> dict[str, str]:
    """Returns each page's text by name, such as `ops/numbers.md`."""
    groups = _groups()
    unknown = groups.keys() - GROUPS.keys()
    if unknown:
        raise SystemExit(f"tools/docs/ops.py: {sorted(unknown)} have no page, expected in GROUPS.")
    pages = {f"ops/{GROUPS[group]}.md": _page(group, names) for group, names in groups.items()}
    return {"ops/index.md": _contents(groups), **pages}


def _groups() -> dict[str, list[str]]:
    rows = re.findall(r"^\| ([^|`]+?) \| (`.*) \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    groups = {group: re.findall(r"`(\w+)`", cell) for group, cell in rows}
    public = set(headrace.ops.__all__)
    return {group: names for group, names in groups.items() if public.issuperset(names)}


def _contents(groups: dict[str, list[str]]) -> str:
    lines = [
        "# hr.ops",
        "",
        "The engine runs these operations of",
        "[native functions](../../guides/transform/native_functions.md) on all cores, without",
        "Python. A *tensor* is a symbolic value: the input of the function, or the result of",
        "another operation. You can pass numbers and arrays too.",
        "",
    ]
    for group, names in groups.items():
        lines += [f"## [{group}]({GROUPS[group]}.md)", "", "| name | what it does |", "|---|---|"]
        for name in names:
            first = _text(name).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            lines.append(f"| [`hr.ops.{name}`]({GROUPS[group]}.md#{_anchor(name)}) | {first} |")
        lines.append("")
    return "\n".join(lines)


def _page(group: str, names: list[str]) -> str:
    entries = [f"# hr.ops: {group[0].lower()}{group[1:]}"]
    for name in names:
        item = getattr(headrace.ops, name)
        entries.append(f"## hr.ops.{name}")
        if callable(item):
            entries.append(_block(f"hr.ops.{name}", item))
        entries.append(_formatted(_text(name)))
        if inspect.isfunction(item) and "Args:" not in _text(name) and (types := types_of(item)):
            entries.append(types)
    return "\n\n".join([*entries, ""])


def _anchor(name: str) -> str:
    return f"hrops{name.lower()}"


def _text(name: str) -> str:
    item = getattr(headrace.ops, name)
    return f"`{item!r}`, for slices." if item is None else inspect.getdoc(item) or ""


def family_entries(rooms: list[ModuleType]) -> str:
    """Returns an entry for each operation of a family, by its first TensorFlow 1 name."""
    entries = []
    for name, item in sorted(functions(rooms), key=itemgetter(0)):
        written = (spellings(item) or [f"headrace.ops.{name}"])[0]
        entries.append(entry(written, item))
    return "\n\n".join([*entries, ""])


def entry(written: str, item: object) -> str:
    """Returns a name's text: its call, its docstring and, for a class, the methods."""
    parts = [f"## {written}"]
    if callable(item) and _has_signature(item):
        parts.append(_block(written, item))
    parts.append(_formatted(inspect.getdoc(item) or ""))
    if inspect.isclass(item) and not issubclass(item, BaseException):
        for name, method in _methods(item):
            shown = name if isinstance(method, property) else _call(name, method)
            parts += [f"### {written}.{name}", f"```py\n{shown}\n```"]
            parts.append(_formatted(inspect.getdoc(method) or ""))
    return "\n\n".join(parts)


def _has_signature(item: object) -> bool:
    try:
        inspect.signature(item)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _methods(item: type) -> Iterator[tuple[str, object]]:
    """Yields a class's methods and properties that this package documents."""
    for name in dir(item):
        result = getattr(item, name)
        home = getattr(result.fget if isinstance(result, property) else result, "__module__", None)
        is_ours = isinstance(home, str) and home.startswith("headrace.")
        is_method = isinstance(result, property) or (
            callable(result) and not inspect.isclass(result)
        )
        if not name.startswith("_") and is_ours and is_method and inspect.getdoc(result):
            yield name, result


def _block(written: str, item: object) -> str:
    return f"```py\n{_call(written, item)}\n```"


def _call(written: str, item: object) -> str:
    """Returns the call with parameters and defaults, under the name that programs use."""
    parameters = inspect.signature(item).parameters.values()  # type: ignore[arg-type]
    shown = [_parameter(parameter) for parameter in parameters if parameter.name != "self"]
    line = f"{written}({', '.join(shown)})"
    if len(line) <= 80:
        return line
    return "\n".join([f"{written}(", *(f"    {one}," for one in shown), ")"])


def _parameter(parameter: inspect.Parameter) -> str:
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return star + parameter.name
    default = parameter.default
    shown = getattr(default, "__name__", None) or repr(default)
    if " at 0x" in shown:  # A placeholder for an omitted argument.
        shown = "..."
    return f"{star}{parameter.name}={shown}"


def _formatted(text: str) -> str:
    """Converts a Google-style docstring to Markdown, with sections as lists."""
    lines, section = [], ""
    for line in text.split("\n"):
        if match := _SECTION.match(line):
            if section == "Examples":
                lines.append("```")
            section = match[1]
            lines += [f"**{_HEADINGS.get(section, section)}**", ""]
            if section == "Examples":
                lines.append("```pycon")
        elif (
            section
            and (entry := re.match(r"    ([\w.*, ]+): (.*)", line))
            and section
            in (
                "Args",
                "Raises",
                "Attributes",
            )
        ):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            lines.append(line.removeprefix("    ") if section else line)
    if section == "Examples":
        lines.append("```")
    return re.sub(r"(?m)^    (?=\S)", "  ", "\n".join(lines))
