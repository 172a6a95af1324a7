"""Checks that the built site's search finds pages by the words that people type.

.docs/bin/python -m tools.docs.search

Pages list search words that they don't contain as `tags` in their front matter.
"""

import json
import re
import sys
from pathlib import Path

from lunr import lunr

INDEX = Path(__file__).parents[2] / "build" / "site" / "search" / "search_index.json"
# The page that must be among the first results of each query.
QUERIES = {
    "weighted sampling": "guides/mixing.html",
    "num_workers": "coming_from/pytorch.html",
    "lambda pickle": "guides/transform/python_functions.html",
    "multi gpu": "guides/several_gpus.html",
    "slow": "guides/faster.html",
    "memory leak": "concepts/memory.html",
    "out of memory": "concepts/memory.html",
    "hang": "guides/hangs.html",
    "shuffle buffer": "guides/shuffle_window.html",
    "length of an epoch": "guides/shuffle.html",
    "install": "start/install.html",
    "decode_jpeg": "guides/read/images.html",
    "torchvision": "guides/transform/libraries.html",
    "huggingface": "coming_from/hugging_face.html",
    "validation": "guides/splits.html",
    "checkpoint": "guides/resume.html",
    "keras": "guides/train/keras.html",
    "grpo": "guides/rollouts.html",
}
NUM_RESULTS = 5


def main() -> int:
    """Prints the queries that don't find their page, and fails if there are any."""
    content = json.loads(INDEX.read_text("utf-8"))
    separator = re.compile(content["config"]["separator"])

    def words(text: str) -> str:
        return separator.sub(" ", re.sub(r"<[^>]*>", " ", text))

    fields = {name: field["boost"] for name, field in content["config"]["fields"].items()}
    documents = [
        (
            {
                "location": entry["location"],
                "title": words(entry["title"]),
                "text": words(entry["text"]),
                "tags": words(" ".join(entry.get("tags", []))),
            },
            {"boost": entry.get("boost", 1)},
        )
        for entry in content["docs"]
    ]
    index = lunr(
        ref="location",
        fields=[{"field_name": name, "boost": boost} for name, boost in fields.items()],
        documents=documents,
    )
    is_complete = True
    for query, page in QUERIES.items():
        results = list(
            dict.fromkeys(result["ref"].partition("#")[0] for result in index.search(words(query)))
        )[:NUM_RESULTS]
        if page not in results:
            print(f"search: {query!r} finds {results}, expected {page}.", file=sys.stderr)
            is_complete = False
    return int(not is_complete)


if __name__ == "__main__":
    sys.exit(main())
