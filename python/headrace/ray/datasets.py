"""Ray Data, both ways."""
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import ray
from ray import cloudpickle

from headrace.pipeline.arguments import checked_int
from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.shares import ShareBatches, check_shares
from headrace.pipeline.sources import iterable

__all__ = ["from_dataset", "to_dataset"]


def to_dataset(pipe: Pipeline, num_blocks: int = 8) -> Any:
    """Returns a `ray.data.Dataset` of the examples of a pipeline of batches.

    Nothing runs before the dataset is used. Block `i` has batches `i`, `i + num_blocks`, … of the
    one order, made by a task of Ray's where there is room. Ray Data keeps no order among blocks.

    Args:
        pipe: A pipeline of batches with an end.
        num_blocks: How many tasks read, at least 1.

    Raises:
        TypeError: If `pipe` is no pipeline.
        ValueError: If it gives examples or has no order, or `num_blocks` is out of range.
    """
    check_shares("to_dataset", pipe)
    checked_int("to_dataset", "num_blocks", num_blocks, 1)
    pickled = cloudpickle.dumps(pipe)

    def examples(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        share = ShareBatches(cloudpickle.loads(pickled), int(row["id"]), num_blocks)
        try:
            while (batch := next(share, None)) is not None:
                yield batch
        finally:
            share.close()

    def blocks(rows: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for number in rows["id"]:
            yield from examples({"id": number})

    numbers = ray.data.range(num_blocks, override_num_blocks=num_blocks)
    return numbers.map_batches(blocks, batch_size=1, batch_format="numpy")


def from_dataset(dataset: Any) -> Pipeline:
    """Returns a pipeline over the rows of a `ray.data.Dataset`, in the order of its blocks.

    Columns become components: numbers, arrays, `bytes` and `str`. The dataset runs on the cluster
    while the pipeline is iterated, and its blocks come one after the other. It is a source like
    `iterable`: another iteration, and each epoch, runs the dataset again, and a resume goes through
    the blocks before the place. Ask Ray Data for its order
    (`ray.data.DataContext.get_current().execution_options.preserve_order = True`) if that matters.

    Args:
        dataset: What `iter_batches` can be asked of.

    Raises:
        TypeError: If it cannot be.
    """
    if not hasattr(dataset, "iter_batches"):
        raise TypeError(
            f"from_dataset: got {type(dataset).__name__}, expected a ray.data.Dataset."
        )
    return iterable(_rows_of(dataset))


def _rows_of(dataset: Any) -> Callable[[], Iterable[Mapping[str, Any]]]:
    def rows() -> Iterator[dict[str, Any]]:
        for block in dataset.iter_batches(batch_size=None, batch_format="numpy"):
            names = list(block)
            for values in zip(*map(_values, block.values()), strict=True):
                yield dict(zip(names, values, strict=True))

    rows.__qualname__ = "ray.data"
    return rows


def _values(column: Any) -> Iterable[Any]:
    """Returns the rows of a column, each as an example has it."""
    return column.astype(object) if np.asarray(column).dtype.kind == "U" else column
