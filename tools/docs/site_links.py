"""Checks that each link of the built site leads to a page, an anchor or a file of it.

.venv/bin/python -m tools.docs.site_links [SITE]

Links to other hosts are not followed.
"""

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["lost_links"]

SITE = Path(__file__).parents[2] / "build" / "site"


def lost_links(site: Path) -> Iterator[str]:
    """Yields a sentence for each link in a site that leads nowhere."""
    for page in sorted(site.rglob("*.html")):
        links, _ = _read(page)
        for link in sorted(links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            # The page for unknown addresses has links from the top.
            home = site if parts.path.startswith("/") else page.parent
            path = home / unquote(parts.path).lstrip("/") if parts.path else page
            target = path / "index.html" if path.is_dir() else path
            if not target.is_file():
                yield f"{page.relative_to(site)}: {link} is missing"
            elif parts.fragment and target.suffix == ".html":
                anchor = unquote(parts.fragment)
                if anchor not in _read(target)[1] and not anchor.startswith("__"):
                    yield f"{page.relative_to(site)}: {link} has no such anchor"


@cache
def _read(page: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the links and the anchors of a page."""
    reader = _Reader()
    reader.feed(page.read_text("utf-8"))
    return frozenset(reader.links), frozenset(reader.anchors)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.links |= {given[name] for name in ("href", "src") if given.get(name)}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}


def main() -> int:
    """Prints the links that lead nowhere, and fails if there are any."""
    found = list(lost_links(Path(sys.argv[1]) if sys.argv[1:] else SITE))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
