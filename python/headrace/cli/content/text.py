"""The kinds of text files: CSV, JSON lines, the state of an iteration, or any other."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Final

__all__ = ["delimiter_of", "is_json_lines", "is_number", "is_text"]

_DELIMITERS: Final = ",\t;|"
_MOST_LINES: Final = 20
# Control characters that texts do not have; tabs, line ends and the like are not among them.
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x08"))


def is_text(data: bytes) -> bool:
    """Returns whether bytes look like a text, in whatever encoding."""
    return bool(data) and len(data.translate(None, _CONTROLS)) == len(data)


def is_number(text: str) -> bool:
    """Returns whether a text is a number, which is an unusual name for a column."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_json_lines(data: bytes, is_whole: bool) -> bool:
    """Returns whether lines are objects of JSON: the first one, and most of the others.

    A line that is cut off is ignored.
    """
    lines = _lines(data, is_whole)
    if not lines and not is_whole:
        # One line is longer than the bytes examined.
        return data.lstrip().startswith(b'{"')
    return bool(lines) and _is_object(lines[0]) and _most(map(_is_object, lines))


def delimiter_of(data: bytes, is_whole: bool) -> str | None:
    """Returns the delimiter if the bytes are CSV with a header; None otherwise.

    It is CSV if most of the first records have as many fields as the first one, at least two, and
    the fields of the first one differ and are not empty. A table with a single column counts as
    text.
    """
    text = b"\n".join(_lines(data, is_whole)).decode("utf-8", "replace")
    found = {delimiter: _num_fields(text, delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: found[delimiter])
    return best if found[best] > 1 else None


def _lines(data: bytes, is_whole: bool) -> list[bytes]:
    """Returns the first whole lines that are not blank."""
    lines = data.splitlines()
    if not is_whole and lines:
        lines.pop()
    return [line for line in lines if line.strip()][:_MOST_LINES]


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _num_fields(text: str, delimiter: str) -> int:
    """Returns the number of fields in most records; 0 if it differs, or for a single record."""
    try:
        records = list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    except csv.Error:
        return 0
    header, *others = records or [[]]
    names = {name.strip() for name in header}
    is_header = "" not in names and len(names) == len(header)
    is_table = bool(others) and _most(len(record) == len(header) for record in others)
    return len(header) if is_header and is_table else 0


def _most(values: Iterable[bool]) -> bool:
    """Returns whether at least three of four are true: a few lines may be damaged."""
    found = list(values)
    return sum(found) >= len(found) * 3 / 4
