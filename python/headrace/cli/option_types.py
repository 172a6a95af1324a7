"""Option types that click lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import click

__all__ = ["budget", "pairs", "size", "steps"]

_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def size(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """Parses a number of bytes, such as 100M or 1.5GiB. All functions here are click callbacks."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?", value.lower())
    number = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if number < 1:
        raise click.BadParameter(
            f"{value!r} is not a valid size, expected a size such as 100M or 1.5GiB."
        )
    return number


def steps(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[int, int | None]:
    """Parses A:B: the first step and the step after the last one. Either or both may be omitted."""
    match = re.fullmatch(r"(\d*):(\d*)", value or ":")
    begin, end = (int(match[1] or 0), int(match[2]) if match[2] else None) if match else (0, 0)
    if end is not None and begin >= end:
        raise click.BadParameter(f"{value!r} is not a range of steps, expected one such as 10:20.")
    return begin, end


def pairs(
    _context: click.Context, _option: click.Parameter, values: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Parses names and values in the form NAME=VALUE."""
    result = []
    for value in values:
        name, mark, text = value.rpartition("=")
        if not mark or not name:
            raise click.BadParameter(f"{value!r} is not a pair, expected NAME=VALUE.")
        result.append((name, text))
    return tuple(result)


def budget(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Parses a number or a share of examples."""
    if value is None or re.fullmatch(r"\d+", value):
        return None if value is None else int(value)
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{value!r} is neither a number nor a fraction such as 0.001.")
    return share
