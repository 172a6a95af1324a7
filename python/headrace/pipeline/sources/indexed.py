"""A source of rows that are read by number, from any object with `__getitem__`."""

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
    """The numbers of the rows of a source that is read by number.

    Attributes:
        length: The number of rows.
        rows: The reader of rows.
        components: The names of the components; None if rows name them.
    """

    length: int
    rows: IndexedRows = field(repr=False)
    components: tuple[str, ...] | None = named(None, keyword="names")

    origin: ClassVar = Origin.ROWS
    measured_part: ClassVar = "numbers"

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "indexed"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"index": Spec(np.dtype(np.int64), ())}

    @property
    def obstacle(self) -> None:
        """None: there is random access to rows."""
        return None

    @property
    def is_reordered(self) -> bool:
        """False: there are no files."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns nothing: rows reach a window in their order."""
        return []

    def counts(self) -> list[int]:
        """Returns the number of rows."""
        return [self.length]

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan of the numbers of rows."""
        self.rows.check_length()
        return engine.Plan.row_numbers(self.length)


@dataclass(frozen=True)
class ReadRows(Map):
    """The rows of an indexed source in place of their numbers."""

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes the source."""
        return "indexed"


def indexed(
    source: Any,
    num_threads: int = 1,
    num_processes: int = 0,
    names: Sequence[str] | None = None,
) -> tuple[Indexed, ReadRows]:
    """Reads the rows of an object with `__len__` and `__getitem__`, such as a PyTorch `Dataset`.

    Random access costs nothing extra. A full shuffle, `take`, `skip`, `shard` and `split` work on
    row numbers, and only the remaining rows are read. You can resume with another number of shards,
    threads or processes.

    The keys of a dict become components. The items of a tuple become "0", "1", …; an array or a
    number becomes "x", and `bytes` become "record", which `parse` reads. Values are converted as in
    `map`. PyTorch tensors and Pillow images become arrays.

    Args:
        source: The object: a data set of PyTorch or Hugging Face, a reader of ArrayRecord or Bagz,
            an array of h5py or zarr, or a list. If it has `__getitems__`, whole blocks are read
            with it. A dict of such objects of equal length makes each of them a component.
        num_threads: The number of threads that read rows; see `map`.
        num_processes: The number of worker processes that read rows instead of threads; 0 for none.
            The object must be picklable.
        names: The names of the components, if rows are not dicts.

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
