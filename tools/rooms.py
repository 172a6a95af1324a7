"""Writes the file lists into the READMEs of the pipeline's folders.

.venv/bin/python -m tools.rooms           # writes the lists
.venv/bin/python -m tools.rooms --check   # says which of them are out of date

Each line contains a file name and the first sentence of the file's docstring.
"""

import ast
import re
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
ROOMS = [
    path
    for top in ("python/headrace/pipeline", "crates/pipeline/src")
    for path in sorted((TOP / top).glob("*/README.md"))
]
_LIST = re.compile(r"(?<=^## Files\n\n```text\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def listed(room: Path) -> str:
    """Returns a folder's lines: its files, then its subfolders."""
    files = [path for path in room.iterdir() if path.suffix in (".py", ".rs")]
    named = {path.name: path for path in files if path.stem not in ("__init__", "mod")}
    inner = [path for path in room.iterdir() if path.is_dir() and path.name != "__pycache__"]
    heads = {f"{path.name}/": _head(path) for path in inner}
    results = {**dict(sorted(named.items())), **{n: h for n, h in sorted(heads.items()) if h}}
    width = max(map(len, results))
    return "".join(f"{name:{width}}  {sentence(path)}\n" for name, path in results.items())


def _head(folder: Path) -> Path | None:
    files = (folder / "__init__.py", folder / "mod.rs")
    return next((path for path in files if path.exists()), None)


def sentence(path: Path) -> str:
    """Returns the first sentence of a file's docstring."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(source)) or ""
    else:
        comment = re.match(r"(?:^//!.*\n)+", source, re.MULTILINE)
        text = re.sub(r"^//! ?", "", comment[0], flags=re.MULTILINE) if comment else ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.:])\s(?=[A-Z])", first)[0]


def written(page: Path) -> str:
    """Returns a folder's README with an up-to-date list."""
    lines = listed(page.parent)
    return _LIST.sub(lambda _: lines, page.read_text("utf-8"))


def main(arguments: list[str]) -> int:
    """Writes the lists, or prints the READMEs that would change."""
    old = [page for page in ROOMS if page.read_text("utf-8") != written(page)]
    for page in old:
        if "--check" in arguments:
            name = page.relative_to(TOP)
            print(f"{name} is out of date. Run `python -m tools.rooms`.", file=sys.stderr)
        else:
            page.write_text(written(page), "utf-8")
    return int(bool(old) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
