"""Formats numbers and values for people."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

__all__ = ["count_of", "echo_json", "percent", "seconds", "shortened", "size", "table"]

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB")
_ELLIPSIS: Final = "…"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Returns text such as "1 record" or "1,234 records"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def size(num_bytes: float) -> str:
    """Returns text such as "512 bytes" or "1.5 MiB"."""
    if num_bytes < 1024:
        return count_of(round(num_bytes), "byte")
    value, unit = num_bytes / 1024, 0
    while value >= 1023.95 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}"


def seconds(value: float) -> str:
    """Returns text such as "350 ms" or "2.4 s"."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def percent(share: float) -> str:
    """Returns "100 %", "33.3 %". Only 1 becomes "100 %", and only 0 becomes "0 %"."""
    if 0.999 < share < 1:
        return "99.9 %"
    if 0 < share < 0.001:
        return "0.1 %"
    return f"{100 * share:.3g} %"


def shortened(text: str, most: int) -> str:
    """Shortens text and removes terminal control sequences."""
    shown = "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}{_ELLIPSIS}"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode()


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> Iterable[str]:
    """Yields the lines of a table. The first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{indent}{'  '.join(cells)}".rstrip()


def echo_json(document: object) -> None:
    """Prints a JSON document."""
    click.echo(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: object) -> object:
    """Returns a JSON-compatible value. Numbers that JSON does not support become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        # A file name may contain bytes that are not text.
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value
