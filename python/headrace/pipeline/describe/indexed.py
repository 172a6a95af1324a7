"""A source of rows that are read by number, from any object with `__getitem__`."""

from collections.abc import Sequence
from typing import Any

from headrace.pipeline.describe.arguments import checked_names, checked_num_callers
from headrace.pipeline.describe.other_libraries import with_explained_calls
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.stages import Indexed, ReadRows
from headrace.pipeline.plan.functions.indexed_rows import IndexedRows

__all__ = ["indexed"]


@with_explained_calls
def indexed(
    source: Any,
    num_threads: int = 1,
    num_processes: int = 0,
    names: Sequence[str] | None = None,
) -> Pipeline:
    """Reads the rows of an object with `__len__` and `__getitem__`, such as a torch `Dataset`.

    Random access is free: a shuffle of all examples, `take`, `skip`, `shard` and `split` work on
    the numbers of rows, and only the rows that remain are read. States are exact, and serve any
    number of shards, threads and processes.

    A row that is a dict has its keys as components. A tuple has the components "0", "1", …; an
    array or a number is "x", and `bytes` are "record", which `parse` takes. Values are as in `map`;
    tensors of PyTorch and pictures of Pillow are arrays.

    Args:
        source: The object: a data set of PyTorch or of Hugging Face, a reader of ArrayRecord or
            Bagz, an array of h5py or zarr, a list. Where it has `__getitems__`, that reads whole
            blocks. Or a dict of such objects of one length, one for each component.
        num_threads: The number of threads that read at the same time, as for `map`.
        num_processes: The number of processes that read, in place of threads; 0 for none. The
            object must be one that can be sent to another process.
        names: The names of the components, where rows are not dicts.

    Raises:
        TypeError: If the rows of the object cannot be read by number, or it has no length.
        ValueError: If its length is negative, a name comes twice, or a number is out of range.
    """
    if isinstance(names, (str, bytes)):
        raise TypeError(f"indexed: names is {names!r}, expected a list of strings.")
    chosen = None if names is None else checked_names("indexed", names)
    rows = IndexedRows(source, chosen)
    callers = checked_num_callers("indexed", rows, num_threads, num_processes)
    numbers = Indexed(rows.length, rows, chosen)
    return Pipeline((numbers, ReadRows(rows, None, *callers)))
