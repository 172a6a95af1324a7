"""Makes pipelines from Ray Data datasets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.source_functions import iterable

__all__ = ["from_dataset"]


def from_dataset(dataset: Any) -> Pipeline:
    """Creates a pipeline over the rows of a `ray.data.Dataset`, in the order of its blocks.

    Columns become components: numbers, arrays, `bytes` and `str`. The dataset runs on the cluster
    while you iterate, and its blocks arrive one after the other. As with `iterable`, every
    iteration and epoch runs the dataset again, and a resumed iteration first re-reads all blocks
    before its position. If the order matters, make Ray Data preserve it:
    `ray.data.DataContext.get_current().execution_options.preserve_order = True`.

    Args:
        dataset: A `ray.data.Dataset`, or any object with `iter_batches`.

    Raises:
        TypeError: If `dataset` has no `iter_batches`.
    """
    if not hasattr(dataset, "iter_batches"):
        raise TypeError(f"from_dataset: got {type(dataset).__name__}, expected a ray.data.Dataset.")
    return iterable(_rows_of(dataset))


def _rows_of(dataset: Any) -> Callable[[], Iterable[Mapping[str, Any]]]:
    def rows() -> Iterator[dict[str, Any]]:
        for block in dataset.iter_batches(batch_size=None, batch_format="numpy"):
            names = list(block)
            for values in zip(*map(_values, block.values()), strict=True):
                yield dict(zip(names, values, strict=True))

    rows.__qualname__ = "ray.data"
    return rows


def _values(column: npt.ArrayLike) -> Iterable[Any]:
    """Returns a column's rows as component values."""
    array = np.asarray(column)
    return array.astype(object) if array.dtype.kind == "U" else array
