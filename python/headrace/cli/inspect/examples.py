"""Formats single examples and their images for people."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from headrace.cli.file_kinds import image_kind, is_text
from headrace.cli.inspect.images import Picture, as_png, decoded, drawn
from headrace.cli.inspect.report import ShownExample
from headrace.cli.wording import shortened, size
from headrace.io.atomic_file import replacing
from headrace.pipeline.writing.values import Values

__all__ = ["as_json", "lines_of_example", "write_pictures"]

_MOST_LETTERS: Final = 100
_MOST_VALUES: Final = 8
_PREVIEW_COLUMNS: Final = 48
_PREVIEW_LINES: Final = 16


def lines_of_example(shown: ShownExample, is_drawn: bool) -> Iterator[str]:
    """Yields the lines of an example.

    Args:
        shown: The example.
        is_drawn: Whether to draw images, in 24-bit colours.
    """
    yield f"  record {shown.number:,}:"
    for name, values in shown.values.items():
        picture = _picture(values)
        text = str(picture) if picture else _text(values)
        yield f"    {shortened(name, 40)}: {text}"
        if picture and is_drawn:
            yield from (
                f"      {line}" for line in drawn(picture, _PREVIEW_COLUMNS, _PREVIEW_LINES)
            )


def as_json(shown: ShownExample) -> dict[str, Any]:
    """Returns an example as data for `--json`. Strings that are not text become their size."""
    return {
        "record": shown.number,
        "values": {
            name: [_json_value(item) for item in values.items]
            if values.shape != ()
            else _json_value(values.items[0])
            if len(values.items)
            else None
            for name, values in shown.values.items()
        },
    }


def write_pictures(path: str, shown: ShownExample, directory: Path) -> Iterator[Path]:
    """Writes the images of an example as PNG files, and yields the paths of the files.

    Args:
        path: The path of the example's file. The names of the PNG files start with its name.
        shown: The example.
        directory: The directory to write to.
    """
    stem = os.path.basename(path)
    for name, values in shown.values.items():
        if picture := _picture(values):
            # A feature can have any name, even a path.
            safe = re.sub(r"[^\w.-]+", "_", name)
            target = directory / f"{stem}-{shown.number}-{safe}.png"
            with replacing(target) as file:
                file.write(as_png(picture))
            yield target


def _picture(values: Values) -> Picture | None:
    if len(values.items) != 1 or not isinstance(values.items[0], bytes):
        return None
    picture = decoded(values.items[0])
    return picture if isinstance(picture, Picture) else None


def _text(values: Values) -> str:
    items = [_item(item) for item in values.items[:_MOST_VALUES]]
    if values.shape == () or (values.shape is None and len(values.items) == 1):
        return items[0] if items else "nothing"
    more = f", … {len(values.items):,} in total" if len(values.items) > _MOST_VALUES else ""
    return shortened(f"[{', '.join(items)}{more}]", 2 * _MOST_LETTERS)


def _item(item: Any) -> str:
    if isinstance(item, bytes):
        if item and not is_text(item):
            return f"{size(len(item))}{_format(item)}"
        item = item.decode("utf-8", "backslashreplace")
    if isinstance(item, str):
        return f'"{shortened(item, _MOST_LETTERS)}"'
    return f"{item:.6g}" if isinstance(item, float) else str(item)


def _format(data: bytes) -> str:
    kind = image_kind(data)
    if kind is None:
        return ""
    picture = decoded(data)
    why = f", cannot be decoded: {picture.splitlines()[0]}" if isinstance(picture, str) else ""
    return f", {kind}{why}"


def _json_value(item: Any) -> Any:
    if not isinstance(item, bytes):
        return item
    if is_text(item) or not item:
        return item.decode("utf-8", "backslashreplace")
    return {"bytes": len(item), "format": image_kind(item)}
