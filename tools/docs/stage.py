"""Assembles the site's pages in build/docs, from docs/ and the top directory.

.venv/bin/python -m tools.docs.stage

Links to files that are not pages are replaced with the URL of the source file.
"""

import html
import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

from tools import ops_pages
from tools.docs import supported
from tools.docs.api import api_pages
from tools.docs.links import replace_targets
from tools.docs.ops import family_entries

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
ASSETS = Path(__file__).parent / "assets"
STAGED = TOP / "build" / "docs"
EDIT_LINKS = TOP / "build" / "sources.json"
# In tables, code hosts render `\|` as a bar, but MkDocs renders a backslash and a bar.
_BAR_IN_CODE = re.compile(r"(?<=[ (])`([^`\n]*\\\|[^`\n]*)`(?=.*\|$)", re.MULTILINE)
# The site paths of pages outside docs/.
PLACES = {
    "DESIGN.md": "design.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "measurements.md",
    "benchmarks/processor_time.svg": "processor_time.svg",
}


def sources() -> dict[Path, Path]:
    """Returns the repository files that are in the site, with their site paths."""
    results = {path: path.relative_to(DOCS) for path in DOCS.rglob("*") if path.is_file()}
    return results | {TOP / name: Path(target) for name, target in PLACES.items()}


def built() -> dict[Path, str]:
    """Returns the generated pages. Each is appended to the page in docs/ with the same name."""
    families = {
        DOCS / f"tf1/ops/{family}.md": f"{ops_pages.page(family, rooms)}\n{family_entries(rooms)}"
        for family, rooms in ops_pages.families().items()
    }
    return {
        DOCS / "tf1/supported.md": supported.page(),
        DOCS / "tf1/operations.md": ops_pages.contents(),
        **families,
    }


def staged(source: Path, text: str, targets: dict[Path, Path], host: str) -> str:
    """Returns a page of the site with rewritten links."""

    def replace(target: str) -> str:
        name, hash_, anchor = target.partition("#")
        if not name:
            return target
        path = Path(os.path.normpath(source.parent / name))
        if path not in targets:
            return f"{host}/{path.relative_to(TOP)}"
        return os.path.relpath(targets[path], targets[source].parent) + hash_ + anchor

    return _BAR_IN_CODE.sub(_as_html, replace_targets(text, replace))


def _for_agents(host: str) -> str:
    """Returns llms.txt, with links to the Markdown sources of pages."""
    text = (TOP / "llms.txt").read_text("utf-8")
    return replace_targets(text, lambda target: f"{host}/{target}")


def _as_html(code: re.Match[str]) -> str:
    bars = html.escape(code[1]).replace(r"\|", "&#124;")
    return f"<code>{bars}</code>"


def source_host() -> str:
    """Returns the URL of the repository's files."""
    with open(TOP / "pyproject.toml", "rb") as file:
        return str(tomllib.load(file)["project"]["urls"]["Source"]) + "/blob/main"


def main() -> int:
    """Writes all pages, replacing an earlier build."""
    shutil.rmtree(STAGED, ignore_errors=True)
    pages, host = built(), source_host()
    targets = {path: path.relative_to(DOCS) for path in pages} | sources()
    for source, target in targets.items():
        path = STAGED / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = pages.get(source) or source.read_text("utf-8")
            path.write_text(staged(source, text, targets, host), "utf-8")
        else:
            shutil.copyfile(source, path)
    edit_links = {
        str(target): f"{host.replace('/blob/', '/edit/')}/{source.relative_to(TOP)}"
        for source, target in targets.items()
        if source.exists()
    }
    EDIT_LINKS.write_text(json.dumps(edit_links), "utf-8")
    shutil.copytree(ASSETS, STAGED / "assets")
    (STAGED / "llms.txt").write_text(_for_agents(host), "utf-8")
    for name, text in api_pages().items():
        path = STAGED / "api" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
