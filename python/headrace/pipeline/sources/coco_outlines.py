"""The outlines of objects in COCO files: polygons and run lengths."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.pipeline.sources.annotated_images import Outlines, refuse

__all__ = ["Entry", "outlines_of"]

_Numbers = npt.NDArray[Any]

# Corners are rounded to fifths of a pixel, as in pycocotools.
_PER_PIXEL: Final = 5
# The largest distance of a corner from the image.
_MOST_DISTANCE: Final = 100_000
# Compressed run lengths have 5 bits per character, the least significant bits first.
_FIRST_CODE, _BITS, _MORE, _SIGN = 48, 5, 0x20, 0x10
_MOST_CODES: Final = 7


class Entry(NamedTuple):
    """An annotation in a file.

    Attributes:
        place: The file and the annotation, for errors.
        row: The number of the image.
        segmentation: The outline, as in the file.
    """

    place: str
    row: int
    segmentation: Any


def outlines_of(entries: Sequence[Entry], sizes: Mapping[int, tuple[int, int]]) -> Outlines:
    """Returns the outlines of all objects, in the engine's format for drawing.

    Args:
        entries: The annotations, ordered by image.
        sizes: The height and width of each image, by image number.

    Raises:
        InvalidArgumentError: If an outline is invalid.
    """
    builder = _Builder()
    ends = np.zeros(len(sizes), np.int64)
    for entry in entries:
        builder.add(entry, *sizes[entry.row])
        ends[entry.row] = builder.length
    return Outlines(
        builder.numbers(),
        np.maximum.accumulate(ends),
        np.array([sizes[row] for row in range(len(sizes))], np.int32),
    )


class _Builder:
    """Collects outlines."""

    def __init__(self) -> None:
        self._numbers: list[float] = []
        # The positions of numbers that are not coordinates.
        self._counts: list[int] = []

    @property
    def length(self) -> int:
        """The number of numbers so far."""
        return len(self._numbers)

    def add(self, entry: Entry, height: int, width: int) -> None:
        """Adds an outline after checking it."""
        outline = entry.segmentation
        if isinstance(outline, dict):
            runs = _runs(entry.place, outline, height, width).tolist()
            self._add_counts(-1, len(runs), *runs)
        elif isinstance(outline, list) and outline:
            self._add_counts(len(outline))
            for number, polygon in enumerate(outline):
                _check_polygon(entry.place, number, polygon)
                self._add_counts(len(polygon))
                self._numbers += polygon
        else:
            refuse(
                "coco",
                entry.place,
                f"segmentation is {outline!r}, expected polygons, or an object with size and "
                "counts. Add it, or remove the annotation.",
            )

    def numbers(self) -> npt.NDArray[np.int32]:
        """Returns all outlines, one after the other."""
        stored = np.array(self._numbers, np.float64)
        # As in C, the fraction is cut off.
        numbers = np.trunc(stored * _PER_PIXEL + 0.5)
        numbers[self._counts] = stored[self._counts]
        return numbers.astype(np.int32)

    def _add_counts(self, *counts: int) -> None:
        self._counts += range(self.length, self.length + len(counts))
        self._numbers += counts


def _check_polygon(place: str, number: int, polygon: Any) -> None:
    is_list = isinstance(polygon, list) and len(polygon) >= 6 and len(polygon) % 2 == 0
    if not is_list or not all(type(value) in (int, float) for value in polygon):
        text = repr(polygon)
        shown = text if len(text) < 100 else f"{text[:100]}…"
        refuse(
            "coco",
            place,
            f"polygon {number} of segmentation is {shown}, expected a list [x1, y1, x2, y2, …] of "
            "at least three corners. Correct the annotation, or remove it.",
        )
    worst = max(polygon, key=abs)
    # A comparison with NaN is false.
    if not all(abs(value) <= _MOST_DISTANCE for value in polygon):
        refuse(
            "coco",
            place,
            f"polygon {number} of segmentation has a corner at {worst}, expected finite numbers of "
            f"at most {_MOST_DISTANCE:,}. Correct the annotation, or remove it.",
        )


def _runs(place: str, outline: Mapping[str, Any], height: int, width: int) -> _Numbers:
    """Returns the run lengths of a mask."""
    if outline.get("size") != [height, width]:
        refuse(
            "coco",
            place,
            f"segmentation has the size {outline.get('size')!r}, but the image is listed with "
            f"height {height} and width {width}. Correct one of them.",
        )
    counts = outline.get("counts")
    runs = _decompressed(counts) if isinstance(counts, str) else _listed(counts)
    if runs is None:
        refuse(
            "coco",
            place,
            "counts of segmentation is neither a list of integers nor a string of compressed run "
            "lengths. Correct the annotation, or remove it.",
        )
    if (runs < 0).any() or runs.sum() != height * width:
        refuse(
            "coco",
            place,
            f"the run lengths of segmentation add up to {runs.sum()} pixels, expected "
            f"{height * width} (size {height} x {width}) and no negative ones. Correct the "
            "annotation, or remove it.",
        )
    return runs


def _listed(counts: Any) -> _Numbers | None:
    if not isinstance(counts, list) or not all(type(count) is int for count in counts):
        return None
    # Integers of any size, whose sum is checked.
    return np.array(counts, object)


def _decompressed(counts: str) -> _Numbers | None:
    """Decodes compressed run lengths.

    Each number has several characters, from the least significant bits. All but the last character
    have the bit `_MORE`. From the fourth number on, the difference from the number before the last
    one is stored.
    """
    if not counts.isascii() or not counts:
        return None
    codes = np.frombuffer(counts.encode(), np.uint8).astype(np.int64) - _FIRST_CODE
    is_last = (codes & _MORE) == 0
    if codes.min() < 0 or codes.max() >= 2 * _MORE or not is_last[-1]:
        return None
    lasts = np.flatnonzero(is_last)
    starts = np.concatenate([[0], lasts[:-1] + 1])
    lengths = lasts - starts + 1
    if lengths.max() > _MOST_CODES:
        return None
    shifts = _BITS * (np.arange(len(codes)) - np.repeat(starts, lengths))
    numbers = np.add.reduceat((codes & (_MORE - 1)) << shifts, starts)
    numbers -= np.where(codes[lasts] & _SIGN, 1 << (_BITS * lengths), 0)
    for first in (1, 2):
        numbers[first::2] = np.cumsum(numbers[first::2])
    return numbers
