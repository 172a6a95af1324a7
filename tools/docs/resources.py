"""Checks that the built site fetches no script, style, font or picture from another host.

.venv/bin/python -m tools.docs.resources

Ordinary links are allowed.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

__all__ = ["foreign_resources"]

SITE = Path(__file__).parents[2] / "build" / "site"
# Attributes that make a page fetch something, and kinds of <link> that only contain an address.
_FETCHED = {"src", "srcset", "poster", "data"}
_NAMING = {"canonical", "alternate", "author", "license", "prev", "next"}
_STYLES = re.compile(r"(?:url\(\s*|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)")


def foreign_resources(page: str) -> list[str]:
    """Returns the URLs that an HTML page fetches from other hosts."""
    reader = _Reader()
    reader.feed(page)
    return reader.found + _STYLES.findall(page)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        arguments = {name: value or "" for name, value in attrs}
        fetched = [arguments[name] for name in _FETCHED & arguments.keys()]
        if tag == "link" and arguments.get("rel") not in _NAMING:
            fetched.append(arguments.get("href", ""))
        self.found += [value for value in fetched if re.match(r"\s*(https?:)?//", value)]


def _foreign(site: Path) -> Iterator[str]:
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            result = foreign_resources(path.read_text("utf-8"))
        elif path.suffix in {".css", ".svg"}:
            result = _STYLES.findall(path.read_text("utf-8"))
        else:
            continue
        yield from (f"{path.relative_to(site)} fetches {address}" for address in result)


def main() -> int:
    """Prints the external resources that pages fetch, and fails if there are any."""
    results = list(_foreign(SITE))
    print("\n".join(results), end="\n" if results else "", file=sys.stderr)
    return int(bool(results))


if __name__ == "__main__":
    sys.exit(main())
