"""The common schema of a file's examples: feature names, types and sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.cli.file_kinds import image_kind, is_text
from headrace.pipeline.writing.values import Values

__all__ = ["FeatureSummary", "Schema"]

# The kinds that can be infinite or NaN, with their names in `Example`s, NumPy and Arrow.
_FLOATS: Final = ("float", "halffloat", "double", "list<element: float", "list<element: double")


@dataclass
class FeatureSummary:
    """A summary of the values of one feature.

    Attributes:
        count: The number of examples that have the feature.
        kinds: The kinds of values in the feature.
        lengths: The smallest and the largest number of values in an example.
        shapes: All shapes of the values, if they have shapes.
        least: The smallest value. For strings, the smallest length.
        most: The largest value. For strings, the largest length.
        num_not_finite: The number of values that are infinite or NaN.
        formats: The number of strings that are images, by image format.
        num_strings: The number of strings.
        is_text: Whether all strings are UTF-8 without control characters that don't occur in text.
    """

    count: int = 0
    kinds: set[str | None] = field(default_factory=set)
    lengths: tuple[int, int] | None = None
    shapes: set[tuple[int, ...] | None] = field(default_factory=set)
    least: float | int | None = None
    most: float | int | None = None
    num_not_finite: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    num_strings: int = 0
    is_text: bool = True

    @property
    def kind(self) -> str:
        """The kind of the values, or several kinds if examples differ."""
        return " or ".join(sorted(kind for kind in self.kinds if kind is not None)) or "none"

    @property
    def is_string(self) -> bool:
        """Whether the values are strings."""
        return self.num_strings > 0

    @property
    def is_scalar(self) -> bool:
        """Whether each example that has the feature has exactly one value."""
        return self.lengths == (1, 1) and self.shapes <= {None, ()}

    @property
    def format(self) -> str | None:
        """The format of its strings ("JPEG", "PNG", ..., "text"), or None for anything else."""
        if self.formats and self.formats.total() == self.num_strings:
            return ", ".join(sorted(self.formats))
        return "text" if self.is_string and self.is_text and self.most else None

    def add(self, values: Values) -> None:
        """Adds the values of an example."""
        self.count += 1
        self.kinds.add(values.kind)
        self.shapes.add(values.shape)
        number = len(values.items)
        fewest, most = self.lengths or (number, number)
        if self.lengths is None or not fewest <= number <= most:
            self.lengths = (min(fewest, number), max(most, number))
        if not number:
            return
        if values.kind in ("bytes", "str"):
            for item in values.items:
                self._add_string(item)
        else:
            self._add_numbers(values)

    def _add_string(self, item: bytes | str) -> None:
        data = item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item
        self.num_strings += 1
        self._widen(len(data), len(data))
        if kind := image_kind(data):
            self.formats[kind] += 1
        self.is_text = self.is_text and (not data or (is_text(data) and _is_utf8(data)))

    def _add_numbers(self, values: Values) -> None:
        items = values.items
        if values.kind is not None and values.kind.startswith(_FLOATS):
            items = [item for item in items if math.isfinite(item)]
            self.num_not_finite += len(values.items) - len(items)
        if items:
            self._widen(min(items), max(items))

    def _widen(self, least: float, most: float) -> None:
        if self.least is None or least < self.least:
            self.least = least
        if self.most is None or most > self.most:
            self.most = most


class Schema:
    """Collects the common schema of examples.

    Attributes:
        num_examples: The number of examples added.
        features: The summary of each feature, by name.
    """

    def __init__(self) -> None:
        self.num_examples = 0
        self.features: dict[str, FeatureSummary] = {}

    def add(self, example: Mapping[str, Values]) -> None:
        """Adds an example."""
        self.num_examples += 1
        for name, values in example.items():
            summary = self.features.get(name)
            if summary is None:
                summary = self.features[name] = FeatureSummary()
            summary.add(values)

    def add_missing(self, name: str, kind: str) -> None:
        """Adds a feature of a known kind that no example has."""
        self.features[name] = FeatureSummary(kinds={kind})

    def share(self, name: str) -> float:
        """Returns the share of examples that have a feature, from 0.0 to 1.0."""
        return self.features[name].count / self.num_examples

    def as_json(self) -> list[dict[str, Any]]:
        """Returns the summary of each feature as data for `--json`."""
        return [
            {
                "name": name,
                "type": feature.kind,
                "shape": _shape(feature),
                "lengths": list(feature.lengths or (0, 0)),
                "share": self.share(name),
                "least": None if feature.is_string else feature.least,
                "most": None if feature.is_string else feature.most,
                "not_finite": feature.num_not_finite,
                "bytes": [feature.least, feature.most] if feature.is_string else None,
                "format": feature.format,
            }
            for name, feature in self.features.items()
        ]


def _shape(feature: FeatureSummary) -> list[int] | None:
    """Returns the shape if it is the same in all examples, or None."""
    if len(feature.shapes) == 1 and (shape := next(iter(feature.shapes))) is not None:
        return list(shape)
    fewest, most = feature.lengths or (0, 0)
    if fewest != most or len(feature.shapes) > 1:
        return None
    return [] if fewest == 1 else [fewest]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
