"""`slim.parallel_reader`: several readers that fill one queue.

Source: `tf.contrib.slim.parallel_reader` in TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.core.dtypes import DTypeLike, string
from headrace.graph import Tensor, name_scope
from headrace.ops.math.cast import cast
from headrace.tf1 import gfile
from headrace.tf1.input import string_input_producer
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues import FIFOQueue, QueueBase, RandomShuffleQueue
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader:
    """Several readers of the same kind, which share one queue of records.

    Args:
        reader_class: The class of the readers.
        common_queue: The queue of keys and records.
        num_readers: The number of readers.
        reader_kwargs: Arguments for each reader.

    Raises:
        TypeError: If the components of the queue are not a key and a record.
    """

    def __init__(
        self,
        reader_class: Callable[..., Any],
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if len(common_queue.dtypes) != 2:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    def read(self, queue: QueueBase, name: str | None = None) -> list[Tensor]:
        """Adds a queue runner that runs the readers.

        Args:
            queue: The names of the files.
            name: Accepted for compatibility, but not used.

        Returns:
            The key and the record of the next example, as string scalars.
        """
        enqueues = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueues))
        taken = self._common_queue.dequeue()
        assert isinstance(taken, list)
        return taken


def parallel_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[DTypeLike] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> list[Tensor]:
    """Reads files with several readers at the same time.

    Args:
        data_sources: A file name or pattern, or a list of these.
        reader_class: The class of the readers.
        num_epochs: The number of epochs, that is, how often each file is read. Defaults to no
            limit.
        num_readers: The number of readers.
        reader_kwargs: Arguments for each reader.
        shuffle: Whether files and records are in random order.
        dtypes: The types of the key and the record. Defaults to strings.
        capacity: The maximum number of records in the queue.
        min_after_dequeue: The minimum number of records that stay in the queue, if `shuffle` is
            True.
        seed: The seed of the order.
        scope: Name scope of the operations.

    Returns:
        The key and the record of the next example, as string scalars.

    Raises:
        ValueError: If there are no files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        dtypes = list(dtypes or [string, string])
        queue: QueueBase
        if shuffle:
            queue = RandomShuffleQueue(
                capacity, min_after_dequeue, dtypes, seed=seed, name="common_queue"
            )
        else:
            queue = FIFOQueue(capacity, dtypes, name="common_queue")
        share = cast(queue.size(), "float32") * (1.0 / capacity)
        scalar(f"queue/{queue.name}/fraction_of_{capacity}_full", share)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Reads each file once, in order, with one reader.

    Args:
        data_sources: See `parallel_read`.
        reader_class: The class of the reader.
        reader_kwargs: The arguments of the reader.
        scope: Name scope of the operations.

    Returns:
        The key and the record of the next example, as string scalars.

    Raises:
        ValueError: If there are no files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """Returns the names of the files.

    Args:
        data_sources: A file name or pattern, or a list of these.

    Raises:
        ValueError: If there are no files.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
