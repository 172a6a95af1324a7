"""Expands braces in paths, such as `{000..010}` and `{a,b}`.

Source: The brace expansion of bash, as used by the webdataset library. There are no escapes.
"""

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

__all__ = ["expanded"]

_MOST_PATHS: Final = 1_000_000
_NUMBERS: Final = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", re.ASCII)
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?", re.ASCII)


def expanded(path: str) -> list[str]:
    """Returns the paths to which a path with braces expands, in order.

    `{a,b}` expands to each of its parts, which may be empty or contain braces themselves.
    `{000..010}` expands to numbers. They have leading zeros if one of the limits does. `{0..10..2}`
    expands to every second number, and `{a..e}` to letters. Other braces are kept as they are.

    Raises:
        ValueError: If the path expands to more than a million paths.
    """
    return _checked(path, path)


def _checked(path: str, pattern: str) -> list[str]:
    braces = _first(path)
    if braces is None:
        return [path]
    start, end, parts = braces
    options = [
        one for part in parts for one in (_checked(part, pattern) if "{" in part else [part])
    ]
    ends = _checked(path[end + 1 :], pattern)
    if len(options) * len(ends) > _MOST_PATHS:
        raise ValueError(
            f"{pattern!r}: the braces expand to more than {_MOST_PATHS:,} paths. Correct "
            "them, or pass the paths as a list."
        )
    return [path[:start] + one + rest for one, rest in product(options, ends)]


def _first(path: str) -> tuple[int, int, list[str]] | None:
    """Returns the position of the first braces that expand, and their alternatives."""
    for start in (match.start() for match in re.finditer("{", path)):
        depth, commas = 0, []
        for position in range(start, len(path)):
            match path[position]:
                case "{":
                    depth += 1
                case "}":
                    depth -= 1
                case "," if depth == 1:
                    commas.append(position)
            if depth == 0:
                cuts = [start, *commas, position]
                parts = [path[one + 1 : other] for one, other in pairwise(cuts)]
                if len(parts) == 1:
                    parts = list(_series(parts[0], path))
                if parts:
                    return start, position, parts
                break
    return None


def _series(text: str, path: str) -> Iterator[str]:
    """Yields the numbers or letters in a range, or nothing if the text is not a range."""
    numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
    match = numbers or letters
    if match is None:
        return
    first, last, step = match.groups()
    begin, end = (int(first), int(last)) if numbers else (ord(first), ord(last))
    by = abs(int(step)) if step and int(step) else 1
    if abs(end - begin) // by >= _MOST_PATHS:
        raise ValueError(
            f"{path!r}: '{{{text}}}' expands to more than {_MOST_PATHS:,} paths. Correct it, "
            "or pass the paths as a list."
        )
    has_zeros = any(re.match(r"-?0\d", one) for one in (first, last))
    width = max(len(first), len(last)) if numbers and has_zeros else 0
    for number in range(begin, end + (1 if end >= begin else -1), by if end >= begin else -by):
        yield f"{number:0{width}d}" if numbers else chr(number)
