"""MkDocs hooks: edit links, and the order of search results."""

import json
from pathlib import Path
from typing import Any

# The URL of each page's source, written by tools/docs/stage.py.
SOURCES = Path(__file__).parents[2] / "build" / "sources.json"
# Folders whose pages have thousands of sections. Search shows guides before them.
BOOSTS = {"tf1/": 0.01, "api/tf1/": 0.01, "api/": 0.1, "decisions/": 0.1}


def on_pre_page(page: Any, config: Any, files: Any) -> Any:
    """Sets the edit link. Reference pages come from docstrings and have no edit link."""
    page.edit_url = json.loads(SOURCES.read_text("utf-8")).get(page.file.src_uri)
    return page


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Ranks reference pages lower in search results."""
    boosts = [boost for folder, boost in BOOSTS.items() if page.file.src_uri.startswith(folder)]
    if boosts:
        page.meta["search"] = {"boost": boosts[0]}
    return markdown
