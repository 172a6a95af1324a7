"""`stats`: ranges, means and class counts of components, in one pass over the data."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core.html import Html, bar, fragment, table, tag
from headrace.core.progress import loop_bar
from headrace.core.repr_prefix import printable
from headrace.pipeline.run.batches import Batches

__all__ = ["ComponentStatistics", "ValueStatistics", "value_statistics"]

# Components with more distinct values have no histogram.
_MOST_DISTINCT: Final = 10_000
# The number of values that the table shows, the most frequent first.
_MOST_SHOWN: Final = 20
# Values are converted to float64 in parts of this many, to save memory.
_PART: Final = 1 << 20


@dataclass(frozen=True)
class ComponentStatistics:
    """The statistics of a component's values.

    Means and standard deviations are computed in float64 and do not depend on the batch size. NaN
    and infinity are counted in `not_finite` and otherwise ignored.

    Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for
    computing sample variances" (1979).

    Attributes:
        examples: The number of examples.
        count: The number of finite numbers in all examples, or of strings.
        not_finite: The number of NaN and infinite values.
        min: The smallest value. For strings, the length of the shortest one, in characters or
            bytes. None if there are none.
        max: The largest value, or the length of the longest string.
        mean: The mean of the values, or of the lengths of strings. NaN if there are none.
        std: The standard deviation of all values (divided by their number, not by one less).
        channel_means: For components whose last axis has 1, 3 or 4 values, such as pictures, the
            mean of each channel. Empty for others.
        channel_stds: The standard deviation of each channel.
        histogram: How often each value occurs, for single integers, bools and strings with at most
            10,000 different values. The most frequent value is first. None for other components.
    """

    examples: int
    count: int
    not_finite: int
    min: Any
    max: Any
    mean: float
    std: float
    channel_means: tuple[float, ...]
    channel_stds: tuple[float, ...]
    histogram: Mapping[Any, int] | None


class ValueStatistics(dict[str, ComponentStatistics]):
    """The statistics of each component, by name. Notebooks show a table, and `print` shows text."""

    def _repr_html_(self) -> str:
        header = ("component", "examples", "values", "range", "mean", "standard deviation")
        rows = [(tag("code", name), *_cells(one)) for name, one in self.items()]
        histograms = [
            tag("div", tag("code", name), _histogram(one.histogram))
            for name, one in self.items()
            if one.histogram
        ]
        return fragment(table(header, rows), *histograms)

    def __repr__(self) -> str:
        lines = []
        for name, one in self.items():
            examples, count, span, mean, std = _cells(one)
            lines.append(
                f"{printable(name)}: {count} values in {examples} examples, {span}, mean {mean}, "
                f"standard deviation {std}"
            )
            for value, number in list((one.histogram or {}).items())[:_MOST_SHOWN]:
                lines.append(f"  {printable(str(value))}: {number:,}")
        return "\n".join(lines)


def _cells(one: ComponentStatistics) -> tuple[str, str, str, str, str]:
    span = "" if one.min is None else f"{_number(one.min)} to {_number(one.max)}"
    count = f"{one.count:,}" + (f" ({one.not_finite:,} not finite)" if one.not_finite else "")
    mean, std = _number(one.mean), _number(one.std)
    if len(one.channel_means) > 1:
        mean += f" ({', '.join(map(_number, one.channel_means))})"
        std += f" ({', '.join(map(_number, one.channel_stds))})"
    return f"{one.examples:,}", count, span, mean, std


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _histogram(counts: Mapping[Any, int]) -> Html:
    most, total = max(counts.values()), sum(counts.values())
    rows = [
        (str(value), f"{number:,}", bar(number / most, f"{number / total:.1%}"))
        for value, number in list(counts.items())[:_MOST_SHOWN]
    ]
    more = len(counts) - len(rows)
    note = tag("small", f"{more:,} more values") if more else Html("")
    return Html(table(("value", "count", "share"), rows) + note)


class _Moments:
    """The count, mean and sum of squared differences of groups of numbers, in float64.

    Each axis before the last one is reduced. Parts are merged with the formula of Chan et al.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: Any = 0.0
        self.squares: Any = 0.0

    def add(self, values: npt.NDArray[np.float64]) -> None:
        """Adds rows of values: (rows,) or (rows, groups)."""
        if not len(values):
            return
        mean = values.mean(axis=0)
        squares = np.square(values - mean).sum(axis=0)
        total = self.count + len(values)
        difference = mean - self.mean
        self.mean = self.mean + difference * (len(values) / total)
        self.squares = (
            self.squares + squares + np.square(difference) * (self.count * len(values) / total)
        )
        self.count = total

    @property
    def std(self) -> Any:
        return np.sqrt(self.squares / self.count) if self.count else math.nan


class _Collector:
    """Collects the statistics of a component."""

    def __init__(self) -> None:
        self._examples = self._not_finite = 0
        self._min: Any = None
        self._max: Any = None
        self._all, self._channels = _Moments(), _Moments()
        self._num_channels: int | None = None
        self._counts: Counter[Any] | None = Counter()

    def add(self, column: Any) -> None:
        """Adds a column: an array with one row per example, or a list with one value each."""
        self._examples += len(column)
        if isinstance(column, np.ndarray) and column.dtype != object:
            self._add_array(column, column.ndim == 1)
            return
        strings = [item for item in column if isinstance(item, (str, bytes))]
        if strings:
            self._count(strings)
            self._add_array(np.array([len(item) for item in strings]), False)
            return
        for item in column:
            if isinstance(item, np.ndarray) and item.dtype != object:
                self._add_array(item, False)
            elif isinstance(item, (list, np.ndarray)):
                self._add_nested(item)

    def _add_nested(self, items: Iterable[Any]) -> None:
        self._counts = None
        for item in items:
            if isinstance(item, (str, bytes)):
                self._add_array(np.array([len(item)]), False)
            elif isinstance(item, np.ndarray) and item.dtype != object:
                self._add_array(item, False)
            elif isinstance(item, (list, np.ndarray)):
                self._add_nested(item)

    def _add_array(self, values: npt.NDArray[Any], is_counted: bool) -> None:
        if values.dtype.kind in "mM":
            values = values[~np.isnat(values)]
            self._limits(values)
            self._counts = None
            return
        if values.dtype.kind in "iub":
            if is_counted:
                self._count(values.tolist())
        else:
            self._counts = None
        if values.dtype.kind == "c":
            return
        num_channels = values.shape[-1] if values.ndim > 2 and values.shape[-1] in (1, 3, 4) else 0
        if self._num_channels not in (None, num_channels):
            num_channels = 0  # Examples have different channels.
        self._num_channels = num_channels
        rows = values.reshape(-1, num_channels or 1)
        for start in range(0, len(rows), _PART):
            self._add_part(rows[start : start + _PART])

    def _add_part(self, part: npt.NDArray[Any]) -> None:
        numbers = part.astype(np.float64)
        is_finite = np.isfinite(numbers)
        if not is_finite.all():
            self._not_finite += int(numbers.size - is_finite.sum())
            self._num_channels = 0
            part, numbers = part[is_finite], numbers[is_finite]
        self._limits(part)
        if self._num_channels:
            self._channels.add(numbers)
        self._all.add(numbers.reshape(-1))

    def _limits(self, values: npt.NDArray[Any]) -> None:
        if not values.size:
            return
        least, most = values.min().item(), values.max().item()
        self._min = least if self._min is None else min(self._min, least)
        self._max = most if self._max is None else max(self._max, most)

    def _count(self, values: Iterable[Any]) -> None:
        if self._counts is not None:
            self._counts.update(values)
            if len(self._counts) > _MOST_DISTINCT:
                self._counts = None

    def result(self) -> ComponentStatistics:
        """Returns the statistics of everything that was added."""
        has_channels = bool(self._num_channels) and self._channels.count > 0
        means = self._channels.mean.tolist() if has_channels else []
        stds = self._channels.std.tolist() if has_channels else []
        has_values = self._all.count > 0
        return ComponentStatistics(
            self._examples,
            self._all.count,
            self._not_finite,
            self._min,
            self._max,
            float(self._all.mean) if has_values else math.nan,
            float(self._all.std) if has_values else math.nan,
            tuple(means),
            tuple(stds),
            dict(self._counts.most_common()) if self._counts else None,
        )


def value_statistics(batches: Batches, total: int | None, unit: str) -> ValueStatistics:
    """Returns the statistics of all components of an iteration, and closes it.

    Args:
        batches: The iteration. It must return columns.
        total: The number of batches or examples, for a progress bar; None if it is unknown.
        unit: "batches" or "examples".
    """
    collectors: dict[str, _Collector] = {}
    progress, number = loop_bar("stats", total, 0, unit), 0
    try:
        with batches:
            while (columns := batches.next_columns()) is not None:
                num_rows, values = columns
                for name, column in values.items():
                    collectors.setdefault(name, _Collector()).add(column)
                number += 1 if unit == "batches" else num_rows
                progress.move_to(number)
    finally:
        progress.close()
    return ValueStatistics({name: one.result() for name, one in collectors.items()})
