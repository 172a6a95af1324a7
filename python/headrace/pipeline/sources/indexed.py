"""`indexed`: rows of any object with `__getitem__`, read by number."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from headrace.core import engine
from headrace.pipeline.functions.indexed_rows import IndexedRows
from headrace.pipeline.stages.arguments import checked_names, checked_num_callers
from headrace.pipeline.stages.map import Map
from headrace.pipeline.stages.source import Origin, Source, SourcePlanning
from headrace.pipeline.stages.stage import named
from headrace.pipeline.values.types import Spec

__all__ = ["Indexed", "ReadRows", "indexed"]


@dataclass(frozen=True)
class Indexed(Source):
    """The row numbers of a source whose rows are read by number.

    Attributes:
        length: The number of rows.
        rows: Reads the rows.
        components: The component names, or None if the rows contain them.
    """

    length: int
    rows: IndexedRows = field(repr=False)
    components: tuple[str, ...] | None = named(None, keyword="names")

    origin: ClassVar = Origin.ROWS
    measured_part: ClassVar = "numbers"

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "indexed"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"index": Spec(np.dtype(np.int64), ())}

    @property
    def obstacle(self) -> None:
        """None, because rows can be accessed at random."""
        return None

    @property
    def is_reordered(self) -> bool:
        """False, because there are no files."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because there are no files."""
        return []

    def counts(self) -> list[int]:
        """Returns the number of rows."""
        return [self.length]

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the row numbers."""
        self.rows.check_length()
        return engine.Plan.row_numbers(self.length)


@dataclass(frozen=True)
class ReadRows(Map):
    """Replaces row numbers with the rows themselves."""

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "indexed"


def indexed(
    source: Any,
    num_threads: int = 1,
    num_processes: int = 0,
    names: Sequence[str] | None = None,
) -> tuple[Indexed, ReadRows]:
    """Reads the rows of an object with `__len__` and `__getitem__`, such as a PyTorch `Dataset`.

    Random access costs nothing extra: a full shuffle, `take`, `skip`, `shard` and `split` work on
    row numbers, and only the rows that remain are read. You can resume with a different number of
    shards, threads or processes.

    If a row is a dict, its keys become components. The items of a tuple become "0", "1" and so on.
    An array or a number becomes "x", and `bytes` become "record", which you can pass to `parse`.
    Values are converted as in `map`. PyTorch tensors and Pillow images become arrays.

    Args:
        source: The object to read, such as a PyTorch or Hugging Face data set, an ArrayRecord or
            Bagz reader, an h5py or zarr array, or a list. If it has `__getitems__`, whole blocks
            are read at a time. You can also pass a dict of such objects, all of the same length.
            Each of them then becomes a component.
        num_threads: The number of threads that read rows; see `map`.
        num_processes: The number of worker processes that read rows instead of threads, or 0 for
            none. The object must be picklable.
        names: The component names, if rows are not dicts.

    Raises:
        TypeError: If the object has no length, or its rows cannot be read by number.
        ValueError: If its length is negative, a name appears twice, or a number is out of range.

    Examples:
        >>> rows = [("apple", 1.5), ("pear", 2.0)]
        >>> next(iter(hr.indexed(rows, names=["item", "price"]).batch(2)))
        {'item': array(['apple', 'pear'], dtype=object), 'price': array([1.5, 2. ])}
    """
    if isinstance(names, (str, bytes)):
        raise TypeError(f"indexed: names is {names!r}, expected a list of strings.")
    chosen = None if names is None else checked_names("indexed", names)
    rows = IndexedRows(source, chosen)
    callers = checked_num_callers("indexed", rows, num_threads, num_processes)
    numbers = Indexed(rows.length, rows, chosen)
    return numbers, ReadRows(rows, None, *callers)
