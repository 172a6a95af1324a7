"""`show`: the first examples or batches of a pipeline, as HTML and as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np

from headrace.core.html import Html, fragment, tag
from headrace.core.repr_prefix import printable
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.views.components import Figure, Reader, figures_of, line, type_of

__all__ = ["Examples", "first_examples"]

# The maximum number of examples to show per batch.
_MOST_ROWS: Final = 16


class Examples:
    """Examples or batches that a notebook shows as pictures, sounds and text.

    `print` shows them as text.

    Attributes:
        examples: The examples or batches, as the pipeline yields them.
    """

    def __init__(
        self, examples: Sequence[Mapping[str, Any]], is_batched: bool, reader: Reader
    ) -> None:
        self.examples: Final = list(examples)
        self._is_batched = is_batched
        self._reader = reader

    def __len__(self) -> int:
        return len(self.examples)

    def _repr_html_(self) -> str:
        return fragment(*self._content())

    @property
    def nouns(self) -> tuple[str, str]:
        """The term for an item, in the singular and in the plural."""
        return ("batch", "batches") if self._is_batched else ("example", "examples")

    def __repr__(self) -> str:
        lines = []
        for number, example in enumerate(self.examples):
            lines.append(f"{self.nouns[0]} {number}")
            if not self._is_batched:
                lines += map(line, figures_of(example, self._reader))
                continue
            lines += [printable(f"  {name}: {type_of(value)}") for name, value in example.items()]
            for row, values in enumerate(_rows(example)[1][:_MOST_ROWS]):
                lines.append(f"  row {row}")
                lines += (f"  {line(figure)}" for figure in figures_of(values, self._reader))
        return "\n".join(lines) or "no examples"

    def _content(self) -> Iterator[Html]:
        if not self.examples:
            yield tag("p", "The pipeline yields no examples.")
        for number, example in enumerate(self.examples):
            if not self._is_batched:
                yield _card(f"Example {number}", figures_of(example, self._reader))
                continue
            whole, rows = _rows(example)
            types = ", ".join(f"{name}: {type_of(value)}" for name, value in example.items())
            more = f", the first {_MOST_ROWS} of {len(rows):,}" if len(rows) > _MOST_ROWS else ""
            yield tag("p", tag("b", f"Batch {number}"), " ", tag("small", types + more))
            cards = (
                _card(f"Row {row}", figures_of(values, self._reader))
                for row, values in enumerate(rows[:_MOST_ROWS])
            )
            yield tag("div", *cards, class_="rows")
            if whole:
                yield _card("Whole batch", figures_of(whole, self._reader))


def _card(title: str, figures: Sequence[Figure]) -> Html:
    return tag("div", tag("b", title), *(figure.html() for figure in figures), class_="example")


def _rows(batch: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the components that have no rows, and the rows of the others.

    Most components of a batch have one value per row. Others, such as a sum over all rows, have
    another shape. If `batch(ragged="offsets")` joined lists, their offsets give the rows.
    """
    joined = dict(_joined_lists(batch))
    columns: dict[str, Any] = {}
    for name, value in batch.items():
        stem, _, part = name.rpartition(".")
        if stem not in joined or part not in ("values", "offsets"):
            columns[name] = value
        else:
            columns[stem] = joined[stem]
    lengths = {
        name: len(value)
        for name, value in columns.items()
        if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim)
    }
    counts = Counter(lengths[name] for name in joined or lengths)
    num_rows = counts.most_common(1)[0][0] if counts else 0
    names = [name for name, length in lengths.items() if length == num_rows]
    whole = {name: value for name, value in columns.items() if name not in names}
    return whole, [{name: columns[name][row] for name in names} for row in range(num_rows)]


def _joined_lists(batch: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yields the name and the rows of each list that `batch(ragged="offsets")` joined."""
    for name in batch:
        stem, _, part = name.rpartition(".")
        values, offsets = batch.get(f"{stem}.values"), batch.get(name)
        if part != "offsets" or stem in batch or not isinstance(values, (np.ndarray, list)):
            continue
        if isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype == np.int64:
            edges = offsets.tolist()
            if edges and edges == sorted(edges) and (edges[0], edges[-1]) == (0, len(values)):
                yield stem, [values[first:last] for first, last in pairwise(edges)]


def first_examples(
    batches: Batches, most: int, is_batched: bool, classes: Sequence[str] | None, tokenizer: Any
) -> Examples:
    """Returns the first examples of an iteration."""
    return Examples(list(islice(batches, most)), is_batched, Reader(classes, tokenizer))
