"""`slim.dataset_data_provider`: provides the examples of a data set, read by several readers.

Source: `tf.contrib.slim.dataset_data_provider` in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.tf1.contrib.slim.data_provider import DataProvider
from headrace.tf1.contrib.slim.dataset import Dataset
from headrace.tf1.contrib.slim.parallel_reader import parallel_read
from headrace.tf1.namespace import namespace

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """Provides the tensors of one example from a data set. Adds queue runners to the graph.

    Args:
        dataset: The data set.
        num_readers: The number of files to read at the same time.
        reader_kwargs: Arguments for each reader.
        shuffle: Whether files and records are in random order.
        num_epochs: The number of epochs, that is, how often each file is read. Defaults to no
            limit.
        common_queue_capacity: The maximum number of records in the queue.
        common_queue_min: The minimum number of records that stay in the queue, which keeps them
            well shuffled.
        record_key: The name of the item that contains the record key.
        seed: The seed of the order.
        scope: Name scope of the operations.

    Raises:
        ValueError: If an item of the data set has the name `record_key`, or there are no files.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: "
                f"{record_key}"
            )
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
