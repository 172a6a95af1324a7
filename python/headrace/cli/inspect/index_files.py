"""Index files: their contents, and whether they are up to date."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from headrace.cli.file_kinds import Content
from headrace.cli.inspect.report import InspectOptions, ShownExample
from headrace.core import engine
from headrace.core.errors import NotFoundError
from headrace.io import storage
from headrace.pipeline.paths.listing import INDEX_SUFFIX

__all__ = ["report_of_index"]


def report_of_index(
    content: Content, looked: InspectOptions
) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of an index. Reads the whole index and verifies its checksums."""
    index, fault = _read(content.path)
    if index is None:
        damage = {"record": None, "offset_bytes": None, "stage": "index", "reason": str(fault)}
        return {"damage": [damage]}, []
    reason = "the offsets of some records are damaged; the next run replaces the index"
    damage = {"record": None, "offset_bytes": None, "stage": "index", "reason": reason}
    report: dict[str, Any] = {
        "unit": "records",
        "count": index.num_records,
        "of": content.path.removesuffix(INDEX_SUFFIX),
        "of_kind": index.kind,
        "of_bytes": index.file_bytes,
        "is_current": None,
        "damage": [] if index.is_whole else [damage],
    }
    if content.path.endswith(INDEX_SUFFIX) and index.tag is None:
        report["is_current"] = _is_of(report["of"], index.file_bytes, index.modified)
    return report, []


def _read(path: str) -> tuple[engine.IndexContent | None, str | None]:
    if not storage.is_remote(path):
        return engine.read_index(storage.local_path(path))
    with tempfile.TemporaryDirectory() as directory:
        here = os.path.join(directory, "index")
        storage.copy(path, here)
        return engine.read_index(here)


def _is_of(path: str, num_bytes: int, time: tuple[int, int] | None) -> bool | None:
    """Returns whether a file is unchanged since it was indexed, or None if it is missing."""
    try:
        entry = storage.status(path)
    except NotFoundError:
        return None
    changed = None if time is None else time[0] * 1_000_000_000 + time[1]
    return (entry.length, entry.modified_ns) == (num_bytes, changed)
