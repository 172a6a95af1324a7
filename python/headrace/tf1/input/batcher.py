"""The common base of batchers, whose threads enqueue examples and whose batches are dequeued.

Source: `tensorflow/python/training/input.py` in TensorFlow 1.15.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.ops.control.cond import cond
from headrace.ops.control.control_flow import no_op, with_dependencies
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.input.components import (
    Component,
    Example,
    ExampleLike,
    ExampleShapes,
    as_rows,
    common_components,
    convert,
    queue_shapes,
)
from headrace.tf1.ops.array.keep_rows import keep_rows
from headrace.tf1.ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from headrace.tf1.ops.sparse.table import SparseTable
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = [
    "Batcher",
    "InOrder",
    "Shuffled",
    "check_keep_input",
    "restore_sparse",
    "without_sparse",
]


class _Waiting(Protocol):
    """A queue of examples waiting to be batched."""

    def make_queue(self, types: list[DType], shapes: list[TensorShape]) -> QueueBase: ...

    def summarize(self, queue: QueueBase) -> None: ...


@dataclass(frozen=True)
class InOrder:
    """A queue that keeps the order: a `FIFOQueue`, or a `PaddingFIFOQueue` with `dynamic_pad`."""

    capacity: int
    dynamic_pad: bool
    shared_name: str | None

    def make_queue(self, types: list[DType], shapes: list[TensorShape]) -> QueueBase:
        """Makes the queue."""
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        return kind(
            capacity=self.capacity, dtypes=types, shapes=shapes, shared_name=self.shared_name
        )

    def summarize(self, queue: QueueBase) -> None:
        """Adds a summary of how full the queue is."""
        fraction = cast(queue.size(), dtypes.float32) * (1.0 / self.capacity)
        scalar(f"fraction_of_{self.capacity}_full", fraction)


@dataclass(frozen=True)
class Shuffled:
    """A queue in random order: a `RandomShuffleQueue`.

    Raises:
        ValueError: If `capacity` does not exceed `min_after_dequeue`.
    """

    capacity: int
    min_after_dequeue: int
    seed: int | None
    shared_name: str | None

    def __post_init__(self) -> None:
        if self.capacity <= self.min_after_dequeue:
            raise ValueError(
                f"capacity {self.capacity} must be bigger than min_after_dequeue "
                f"{self.min_after_dequeue}."
            )

    def make_queue(self, types: list[DType], shapes: list[TensorShape]) -> QueueBase:
        """Makes the queue."""
        return RandomShuffleQueue(
            capacity=self.capacity,
            min_after_dequeue=self.min_after_dequeue,
            seed=self.seed,
            dtypes=types,
            shapes=shapes,
            shared_name=self.shared_name,
        )

    def summarize(self, queue: QueueBase) -> None:
        """Adds a summary of the fraction of the queue above the minimum."""
        room = self.capacity - self.min_after_dequeue
        free = maximum(0, queue.size() - self.min_after_dequeue)
        fraction = cast(free, dtypes.float32) * (1.0 / room)
        scalar(f"fraction_over_{self.min_after_dequeue}_of_{room}_full", fraction)


# More threads than any system can run.
_MOST_THREADS: Final = 2**22


@dataclass(frozen=True)
class Batcher:
    """Creates batches of examples. See the functions in `batching` for the arguments."""

    waiting: _Waiting
    batch_size: TensorLike
    enqueue_many: bool
    shapes: ExampleShapes | None
    allow_smaller_final_batch: bool
    name: str | None
    keep_input: TensorLike = True

    def batch(self, tensors: ExampleLike, num_threads: int, default_name: str) -> Any:
        """Returns batches of an example that several threads compute repeatedly."""
        return self._batch([tensors], num_threads, default_name)

    def batch_join(self, tensors_list: Iterable[ExampleLike], default_name: str) -> Any:
        """Returns batches of several examples, each computed by its own thread."""
        return self._batch(tensors_list, 1, default_name)

    def _batch(
        self, tensors_list: Iterable[ExampleLike], num_threads: int, default_name: str
    ) -> Any:
        keys, rows = as_rows(tensors_list)
        values = [value for row in rows for value in row]
        with name_scope(self.name, default_name, [*values, self.keep_input]) as scope:
            examples = convert(rows)
            keep = check_keep_input(self.keep_input, self.enqueue_many)
            components = common_components(examples, self.enqueue_many)
            shapes = queue_shapes(examples, components, self.shapes, self.enqueue_many)
            types = [component.queue_dtype for component in components]
            is_sparse = any(component.sparse_shape is not None for component in components)
            table = SparseTable() if is_sparse else None
            queue = self.waiting.make_queue(types, shapes)
            enqueue_ops = [self._enqueue(queue, example, table, keep) for example in examples]
            add_queue_runner(QueueRunner(queue, enqueue_ops * _check_num_threads(num_threads)))
            self.waiting.summarize(queue)
            take = queue.dequeue_up_to if self.allow_smaller_final_batch else queue.dequeue_many
            taken = take(self.batch_size, name=scope)
            batch = taken if isinstance(taken, list) else [taken]
            if table is not None:
                batch = restore_sparse(batch, components, table)
        if keys is not None:
            return dict(zip(keys, batch, strict=True))
        return batch if len(batch) > 1 else batch[0]

    def _enqueue(
        self, queue: QueueBase, example: Example, table: SparseTable | None, keep: Tensor | None
    ) -> Operation | Tensor:
        """Adds the operation that enqueues an example or its rows."""
        if keep is not None and keep.shape.rank == 1:
            return self._enqueue_some(queue, example, table, keep)

        def enqueue() -> Operation:
            values = [without_sparse(value, table, self.enqueue_many) for value in example]
            return queue.enqueue_many(values) if self.enqueue_many else queue.enqueue(values)

        if keep is None:
            return enqueue()
        result: Tensor = cond(keep, enqueue, no_op)
        return result

    def _enqueue_some(
        self, queue: QueueBase, example: Example, table: SparseTable | None, keep: Tensor
    ) -> Operation:
        """Adds the operation that enqueues the rows of an example for which a bool is true."""
        values = []
        for value in example:
            if isinstance(value, Tensor):
                values.append(keep_rows(value, keep))
            else:
                assert table is not None
                values.append(table.add_many(value, keep))
        return queue.enqueue_many(values)


def without_sparse(
    value: Tensor | SparseTensor, table: SparseTable | None, enqueue_many: bool = False
) -> Tensor:
    """Adds a sparse tensor to a table and returns its handle. Returns other tensors unchanged."""
    if isinstance(value, Tensor):
        return value
    assert table is not None
    return table.add_many(value) if enqueue_many else table.add(value)


def _check_num_threads(num_threads: int) -> int:
    if num_threads > _MOST_THREADS:
        raise ValueError(
            f"num_threads: Value out of range: {num_threads}, expected at most {_MOST_THREADS}."
        )
    return max(num_threads, 0)


def check_keep_input(keep_input: TensorLike, enqueue_many: bool) -> Tensor | None:
    """Returns the condition as a tensor, or None if all examples are kept."""
    keep = convert_to_tensor(keep_input)
    if keep.shape.rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if keep.shape.rank == 1 and not enqueue_many:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    is_all_kept = keep.shape.rank == 0 and constant_value(keep)
    return None if is_all_kept else keep


def restore_sparse(
    batch: Sequence[Tensor], components: Sequence[Component], table: SparseTable
) -> list[Tensor | SparseTensor]:
    """Replaces handles with batches of the sparse tensors that they represent.

    Computing one component of a batch also computes all others, so nothing remains in the table.
    """
    values: list[Tensor | SparseTensor] = []
    for tensor, component in zip(batch, components, strict=True):
        if component.sparse_shape is None:
            values.append(tensor)
        else:
            rank = component.sparse_shape.rank
            values.append(table.take_many(tensor, component.dtype, rank))
    if len(values) == 1:
        return values
    ops = [value.op for value in values if isinstance(value, SparseTensor)]

    def with_all(tensor: Tensor) -> Tensor:
        return with_dependencies(ops, tensor)

    return [
        SparseTensor(*map(with_all, (value.indices, value.values, value.dense_shape)))
        if isinstance(value, SparseTensor)
        else with_all(value)
        for value in values
    ]
