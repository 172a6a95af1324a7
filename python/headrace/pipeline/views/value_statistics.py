"""`stats`: ranges, means and class counts of components, in one pass over the data."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

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
        channel_means: For components whose last axis has 3 or 4 values, such as pictures, the mean
            of each channel. Empty for others.
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
    """The count, the means and the sums of squared differences of rows of values, in float64.

    Each column has its own mean. Parts are merged with the formula of Chan et al.
    """

    def __init__(self, count: int, means: Array, squares: Array) -> None:
        self.count, self.means, self.squares = count, means, squares

    @classmethod
    def of(cls, rows: npt.NDArray[Any]) -> "_Moments":
        """Returns the moments of rows of finite values."""
        moments = [_moments_of(column) for column in rows.T]
        return cls(
            len(rows), np.array([one for one, _ in moments]), np.array([one for _, one in moments])
        )

    def merged(self, other: "_Moments") -> "_Moments":
        """Returns the moments of both parts. Parts with different columns become one column."""
        if len(self.means) != len(other.means):
            return self.in_one_column().merged(other.in_one_column())
        if not self.count or not other.count:
            return self if self.count else other
        total = self.count + other.count
        differences = other.means - self.means
        return _Moments(
            total,
            self.means + differences * (other.count / total),
            self.squares
            + other.squares
            + np.square(differences) * (self.count * other.count / total),
        )

    def in_one_column(self) -> "_Moments":
        """Returns the moments of the values of all columns."""
        mean = self.means.mean()
        squares = self.squares.sum() + self.count * np.square(self.means - mean).sum()
        return _Moments(self.count * len(self.means), np.array([mean]), np.array([squares]))

    @property
    def stds(self) -> Array:
        """The standard deviation of each column."""
        return cast("Array", np.sqrt(self.squares / self.count))


def _moments_of(column: npt.NDArray[Any]) -> tuple[float, float]:
    """Returns the mean, and the sum of squared differences from it."""
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
        self._examples = self._not_finite = 0
        self._min: Any = None
        self._max: Any = None
        self._moments: _Moments | None = None
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
        num_channels = values.shape[-1] if values.ndim > 2 and values.shape[-1] in (3, 4) else 1
        rows = values.reshape(-1, num_channels)
        for start in range(0, len(rows), _PART):
            self._add_part(rows[start : start + _PART])

    def _add_part(self, rows: npt.NDArray[Any]) -> None:
        if rows.dtype.kind not in "iub":
            is_finite = np.isfinite(rows).astype(np.bool_)
            if not is_finite.all():
                self._not_finite += int(rows.size - is_finite.sum())
                rows = rows[is_finite][:, None]
        if len(rows):
            self._limits(rows)
            moments = _Moments.of(rows)
            self._moments = moments if self._moments is None else self._moments.merged(moments)

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
        moments = self._moments or _Moments(0, np.array([math.nan]), np.array([math.nan]))
        whole = moments.in_one_column()
        has_channels = len(moments.means) > 1
        return ComponentStatistics(
            self._examples,
            whole.count,
            self._not_finite,
            self._min,
            self._max,
            float(whole.means[0]),
            float(whole.stds[0]) if whole.count else math.nan,
            tuple(moments.means.tolist()) if has_channels else (),
            tuple(moments.stds.tolist()) if has_channels else (),
            dict(self._counts.most_common()) if self._counts else None,
        )


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
