"""Excerpts from arrays for error messages, in the format of TensorFlow's kernels.

Source: `Tensor::SummarizeValue` in TensorFlow 1.15.
"""

import math
from typing import Final

import numpy as np

from headrace.ops.framework.kernel import Array

__all__ = ["write_excerpt", "write_summary"]


def write_excerpt(value: Array, limit: int) -> str:
    """Writes the first elements of an array, with brackets around inner rows.

    Args:
        value: The array.
        limit: The number of elements to write. If negative, all are written. "..." replaces the
            rest.
    """
    shown = value.size if limit < 0 else min(limit, value.size)
    words = [_word(item) for item in value.ravel()[:shown]]
    dots = "..." if shown < value.size else ""
    if value.ndim == 0:
        return " ".join(words) + dots
    return _rows(words, 0, value.shape) + dots


def write_summary(value: Array, edge: int) -> str:
    """Writes the first and last rows of an array, one per line.

    Args:
        value: The array.
        edge: The number of rows to write at each end of each axis. If negative, all are written.
            "..." replaces the rows in between.

    Source: `Tensor::SummarizeValue` in TensorFlow 1.15, with `print_v2`.
    """
    if value.ndim == 0:
        return _quoted(value[()])
    return _lines(value, value.shape[0] + 1 if edge < 0 else edge, edge, 1)


def _lines(value: Array, shown: int, edge: int, depth: int) -> str:
    if value.ndim == 1:
        words, between = [_quoted(item) for item in _ends(value, shown)], " "
    else:
        inner = value.shape[1] + 1 if edge < 0 else edge
        words = [_lines(row, inner, edge, depth + 1) for row in _ends(value, shown)]
        between = "\n" * (value.ndim - 1) + " " * depth
    if len(words) < len(value):
        words.insert(shown, "...")
    return f"[{between.join(words)}]"


def _ends(value: Array, shown: int) -> Array:
    """Returns the first and last `shown` rows, or all rows if there are no others."""
    return value if 2 * shown >= len(value) else np.concatenate([value[:shown], value[-shown:]])


def _quoted(item: object) -> str:
    if isinstance(item, bytes):
        text = item.decode(errors="backslashreplace").translate(_ESCAPES)
        return '"' + text.replace("'", "\\'") + '"'
    return _word(item)


def _rows(words: list[str], start: int, shape: tuple[int, ...]) -> str:
    """Writes a part of an array, up to the last element that is shown.

    Args:
        words: The elements that are shown, as a flat list.
        start: The number of the part's first element.
        shape: The part's shape.
    """
    step = math.prod(shape[1:])
    positions = range(start, min(start + step * shape[0], len(words)), max(step, 1))
    if len(shape) > 1:
        return "".join(f"[{_row(words, position, shape[1:])}]" for position in positions)
    return " ".join(words[position] for position in positions)


def _row(words: list[str], start: int, shape: tuple[int, ...]) -> str:
    is_cut = len(shape) == 1 and start + shape[0] > len(words)
    return _rows(words, start, shape) + ("..." if is_cut else "")


def _word(item: object) -> str:
    if isinstance(item, bytes):
        text = item.decode(errors="backslashreplace")
        return text.translate(_ESCAPES)
    if isinstance(item, np.floating):
        few, many = (15, 17) if item.dtype == np.float64 else (6, 9)
        short = f"{item:.{few}g}"
        return short if item.dtype.type(short) == item else f"{item:.{many}g}"
    return str(int(item)) if isinstance(item, np.bool_) else str(item)


_ESCAPES: Final = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"'})
