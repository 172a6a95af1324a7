"""Checks that the search of the built site finds words that people type.

.venv/bin/python -m tools.docs.search
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["QUERIES", "not_found", "titles_with"]

INDEX = Path(__file__).parents[2] / "build" / "site" / "search" / "search_index.json"
# Typical queries, and the page that must have a title with these words.
QUERIES = {
    "num_workers": "faq.html",
    "DataLoader": "coming_from.html",
    "length of an epoch": "faq.html",
    "install": "index.html",
    "shuffle buffer": "faq.html",
    "out of memory": "faq.html",
    "decode_jpeg": "api/ops/image_files.html",
    "PyTorch": "frameworks.html",
    "WebDataset": "sources.html",
    "augmentation": "augmentation.html",
    "torchvision": "augmentation.html",
    "cache": "api/pipeline.html",
    "nested": "sources.html",
    "mixing": "mixing.html",
    "sound": "sound.html",
}


def titles_with(query: str, index: Mapping[str, Any]) -> list[str]:
    """Returns the sections whose titles have all words of a query, which search shows first."""
    separator = re.compile(index["config"]["separator"])
    words = _words(query, separator)
    return [
        position["location"]
        for position in index["docs"]
        if words <= _words(re.sub(r"<[^>]*>", "", position["title"]), separator)
    ]


def not_found(queries: Mapping[str, str], index: Mapping[str, Any]) -> Iterable[str]:
    """Yields a sentence for each query that no title on its page has."""
    for query, page in queries.items():
        found = titles_with(query, index)
        if not any(location.partition("#")[0] == page for location in found):
            yield f"search: {query!r} is in titles of {found or 'no page'}, expected {page}."


def _words(text: str, separator: re.Pattern[str]) -> set[str]:
    return {word for word in separator.split(text.lower()) if word}


def main() -> int:
    """Prints the queries that search does not find, and fails if there are any."""
    found = list(not_found(QUERIES, json.loads(INDEX.read_text("utf-8"))))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
