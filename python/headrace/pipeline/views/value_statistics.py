"""`stats`: ranges, means and class counts of components, in one pass over the data."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core.html import Html, bar, fragment, table, tag
from headrace.core.progress import loop_bar
from headrace.core.repr_prefix import printable
from headrace.pipeline.run.batches import Batches

__all__ = ["ComponentStatistics", "ValueStatistics", "value_statistics"]

Array: TypeAlias = npt.NDArray[np.float64]

# Components with more distinct values have no histogram.
_MOST_DISTINCT: Final = 10_000
# The number of values that the table shows, the most frequent first.
_MOST_SHOWN: Final = 20
_CHANNELS: Final = (3, 4)
# Values are converted to float64 in parts of this many, to save memory.
_PART: Final = 1 << 20


@dataclass(frozen=True)
class ComponentStatistics:
    """The statistics of a component's values.

    Means and standard deviations are computed in float64 and do not depend on the batch size. NaN,
    NaT and infinity are counted in `not_finite` and otherwise ignored.

    Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for
    computing sample variances" (1979).

    Attributes:
        examples: The number of examples.
        count: The number of finite numbers in all examples, or of dates or strings.
        not_finite: The number of NaN, NaT and infinite values.
        min: The smallest value. For dates, a `numpy.datetime64` or `numpy.timedelta64`. For
            strings, the length of the shortest one, in characters or bytes. None if there are none.
        max: The largest value, or the length of the longest string.
        mean: The mean of the values, or of the lengths of strings. NaN if there are none, and for
            dates.
        std: The standard deviation of all values (divided by their number, not by one less).
        channel_means: The mean of each channel, for components whose last axis has 3 or 4 values,
            such as pictures. Also for (channels, height, width) with 3 or 4 channels. Empty for
            others.
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
            parts = [f"{printable(name)}: {count} values in {examples} examples", span]
            parts += [f"mean {mean}", f"standard deviation {std}"] if mean else []
            lines.append(", ".join(filter(None, parts)))
            for value, number in list((one.histogram or {}).items())[:_MOST_SHOWN]:
                lines.append(f"  {printable(str(value))}: {number:,}")
        return "\n".join(lines)


def _cells(one: ComponentStatistics) -> tuple[str, str, str, str, str]:
    span = "" if one.min is None else f"{_number(one.min)} to {_number(one.max)}"
    count = f"{one.count:,}" + (f" ({one.not_finite:,} not finite)" if one.not_finite else "")
    mean, std = ("" if math.isnan(one.mean) else _number(value) for value in (one.mean, one.std))
    if one.channel_means:
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
    """The counts, the means and the sums of squared differences of columns, in float64.

    A column without values has the mean 0. Parts are merged with the formula of Chan et al.
    """

    def __init__(self, counts: Array, means: Array, squares: Array) -> None:
        self.counts, self.means, self.squares = counts, means, squares

    @classmethod
    def of(cls, columns: Iterable[npt.NDArray[Any]]) -> "_Moments":
        """Returns the moments of columns of finite values."""
        moments = [(len(column), *_moments_of(column)) for column in columns]
        return cls(*(np.array(values, np.float64) for values in zip(*moments, strict=True)))

    def merged(self, other: "_Moments") -> "_Moments":
        """Returns the moments of both parts. Parts with different columns become one column."""
        if len(self.means) != len(other.means):
            return self.in_one_column().merged(other.in_one_column())
        total = self.counts + other.counts
        share = other.counts / np.maximum(total, 1)
        differences = other.means - self.means
        return _Moments(
            total,
            self.means + differences * share,
            self.squares + other.squares + np.square(differences) * (self.counts * share),
        )

    def in_one_column(self) -> "_Moments":
        """Returns the moments of the values of all columns."""
        total = self.counts.sum()
        mean = (self.means * (self.counts / max(total, 1))).sum()
        squares = (self.squares + self.counts * np.square(self.means - mean)).sum()
        return _Moments(np.array([total]), np.array([mean]), np.array([squares]))

    def means_and_stds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Returns the mean and the standard deviation of each column; NaN without values."""
        is_empty = self.counts == 0
        means = np.where(is_empty, math.nan, self.means)
        stds = np.where(is_empty, math.nan, np.sqrt(self.squares / np.maximum(self.counts, 1)))
        return tuple(means.tolist()), tuple(stds.tolist())


def _moments_of(column: npt.NDArray[Any]) -> tuple[float, float]:
    """Returns the mean, and the sum of squared differences from it."""
    if not len(column):
        return 0.0, 0.0
    if column.dtype == np.uint8:
        # This is several times faster than with numbers.
        counts, values = np.bincount(column, minlength=256), np.arange(256.0)
        mean = counts @ values / len(column)
        return float(mean), float(counts @ np.square(values - mean))
    numbers = np.ascontiguousarray(column, np.float64)
    mean = numbers.mean()
    return float(mean), float(np.square(numbers - mean).sum())


class _Collector:
    """Collects the statistics of a component."""

    def __init__(self) -> None:
        self._examples = self._not_finite = self._num_dates = 0
        self._min: Any = None
        self._max: Any = None
        self._moments: _Moments | None = None
        self._counts: Counter[Any] | None = Counter()

    def add(self, column: Any) -> None:
        """Adds a column: an array with one row per example, or a list with one value each."""
        self._examples += len(column)
        if isinstance(column, np.ndarray) and column.dtype != object:
            self._add_array(column, 1)
            return
        strings = [item for item in column if isinstance(item, (str, bytes))]
        if strings:
            self._count(strings)
            self._add_array(np.array([len(item) for item in strings]))
            return
        for item in column:
            if isinstance(item, np.ndarray) and item.dtype != object:
                self._add_array(item)
            elif isinstance(item, (list, np.ndarray)):
                self._add_nested(item)

    def _add_nested(self, items: Iterable[Any]) -> None:
        self._counts = None
        for item in items:
            if isinstance(item, (str, bytes)):
                self._add_array(np.array([len(item)]))
            elif isinstance(item, np.ndarray) and item.dtype != object:
                self._add_array(item)
            elif isinstance(item, (list, np.ndarray)):
                self._add_nested(item)

    def _add_array(self, values: npt.NDArray[Any], num_outer: int = 0) -> None:
        """Adds an array. Its first `num_outer` axes are not part of an example."""
        if values.dtype.kind in "mM":
            self._add_dates(values)
            return
        if values.dtype.kind in "iub":
            if num_outer and values.ndim == num_outer:
                self._count(values.tolist())
        else:
            self._counts = None
        if values.dtype.kind == "c":
            return
        axis = _channel_axis(values.shape, num_outer)
        rows = (
            values.reshape(-1, 1)
            if axis is None
            else np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
        )
        for start in range(0, len(rows), _PART):
            self._add_part(rows[start : start + _PART])

    def _add_dates(self, values: npt.NDArray[Any]) -> None:
        self._counts = None
        dates = values[~np.isnat(values)]
        self._not_finite += values.size - dates.size
        self._num_dates += dates.size
        if dates.size:
            self._limits(dates.min(), dates.max())

    def _add_part(self, rows: npt.NDArray[Any]) -> None:
        columns = list(rows.T)
        if rows.dtype.kind not in "iub":
            is_finite = np.isfinite(rows)
            if not is_finite.all():
                self._not_finite += int(rows.size - is_finite.sum())
                columns = [rows[kept, number] for number, kept in enumerate(is_finite.T)]
        moments = _Moments.of(columns)
        self._moments = moments if self._moments is None else self._moments.merged(moments)
        for column in columns:
            if len(column):
                self._limits(column.min().item(), column.max().item())

    def _limits(self, least: Any, most: Any) -> None:
        self._min = least if self._min is None else min(self._min, least)
        self._max = most if self._max is None else max(self._max, most)

    def _count(self, values: Iterable[Any]) -> None:
        if self._counts is not None:
            self._counts.update(values)
            if len(self._counts) > _MOST_DISTINCT:
                self._counts = None

    def result(self) -> ComponentStatistics:
        """Returns the statistics of everything that was added."""
        moments = self._moments or _Moments.of([np.zeros(0)])
        whole = moments.in_one_column()
        ((mean,), (std,)) = whole.means_and_stds()
        channels = moments.means_and_stds() if len(moments.means) > 1 else ((), ())
        return ComponentStatistics(
            self._examples,
            int(whole.counts[0]) + self._num_dates,
            self._not_finite,
            self._min,
            self._max,
            mean,
            std,
            *channels,
            dict(self._counts.most_common()) if self._counts else None,
        )


def _channel_axis(shape: tuple[int, ...], num_outer: int) -> int | None:
    """Returns the axis of the channels: the last one, or the first of a (3, height, width)."""
    if len(shape) > 2 and shape[-1] in _CHANNELS:
        return -1
    is_first = len(shape) >= num_outer + 3 and shape[-3] in _CHANNELS
    return -3 if is_first and min(shape[-2:]) > max(_CHANNELS) else None


def value_statistics(batches: Batches, total: int | None, unit: str) -> ValueStatistics:
    """Returns the statistics of all components of an iteration.

    Args:
        batches: The iteration. It must return columns.
        total: The number of batches or examples, for a progress bar, or None if it is unknown.
        unit: "batches" or "examples".
    """
    collectors: dict[str, _Collector] = {}
    progress, number = loop_bar("stats", total, 0, unit), 0
    try:
        while (columns := batches.next_columns()) is not None:
            num_rows, values = columns
            for name, column in values.items():
                collectors.setdefault(name, _Collector()).add(column)
            number += 1 if unit == "batches" else num_rows
            progress.move_to(number)
    finally:
        progress.close()
    return ValueStatistics({name: one.result() for name, one in collectors.items()})
