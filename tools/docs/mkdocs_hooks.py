"""What MkDocs calls for each page: edit links, and the order of search results."""

import json
from pathlib import Path
from typing import Any

# Written by tools/docs/stage.py: the URL of each page's source.
SOURCES = Path(__file__).parents[2] / "build" / "sources.json"
# Folders whose pages have thousands of sections: search shows guides first.
BOOSTS = {"tf1/": 0.01, "api/tf1/": 0.01, "api/": 0.1, "decisions/": 0.1}


def on_pre_page(page: Any, config: Any, files: Any) -> Any:
    """Sets the edit link. Pages of the reference come from docstrings and have none."""
    page.edit_url = json.loads(SOURCES.read_text("utf-8")).get(page.file.src_uri)
    return page


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lowers pages of the reference in search results."""
    boosts = [boost for folder, boost in BOOSTS.items() if page.file.src_uri.startswith(folder)]
    if boosts:
        page.meta["search"] = {"boost": boosts[0]}
    return markdown
