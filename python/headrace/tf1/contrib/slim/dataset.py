"""`slim.dataset`: the description of a data set.

Source: `tf.contrib.slim.dataset` in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.tf1.namespace import namespace

__all__ = ["Dataset"]


class Dataset:
    """A data set: files, their reader and decoder, and metadata. Arguments become attributes.

    Args:
        data_sources: The files: names or patterns.
        reader: The reader class, such as `tf.TFRecordReader`.
        decoder: Decodes records to items. It has the methods `list_items` and `decode`.
        num_samples: The number of examples.
        items_to_descriptions: A description of each item, in words.
        **kwargs: Any other metadata, such as `num_classes`.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Mapping[str, str] | None,
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
