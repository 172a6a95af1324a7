"""The width of prose on pages."""

import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[1]
COLUMNS = 100


def pages() -> list[Path]:
    """Returns the pages that are written by hand."""
    folders = (TOP, TOP / "fuzz", TOP / "benchmarks", TOP / "crates")
    results = [path for folder in folders for path in folder.glob("*.md")]
    results += (TOP / "docs").rglob("*.md")
    results += [TOP / folder / "README.md" for folder in ("examples", "tests")]
    results += [page for top in ("python", "crates") for page in (TOP / top).rglob("README.md")]
    return [path for path in results if path.name != "CHANGELOG.md"]


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Yields the number and text of lines, except headings, tables, code, quotes and images."""
    is_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if re.match(r"\s*(```|~~~)", line):
            is_code = not is_code
        elif not is_code and not re.match(
            r"\s*(#|\||!\[|\[!\[|<|>|\[[^\]]+\]:|`[^`]*`[.,:;]?$)| {8}", line
        ):
            yield number, line


def test_prose_of_pages_is_at_most_100_columns_wide():
    long = [
        f"{page.relative_to(TOP)}:{number}"
        for page in pages()
        for number, line in prose(page)
        if len(line) > COLUMNS
    ]
    assert long == []
