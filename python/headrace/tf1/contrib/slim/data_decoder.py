"""`slim.data_decoder`: the base class of decoders for records.

Source: `tf.contrib.slim.data_decoder` in TensorFlow 1.15.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.tf1.namespace import namespace

__all__ = ["DataDecoder"]


class DataDecoder(ABC):
    """The base class of decoders, which convert a record to items."""

    @abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """Returns the item tensors of a record.

        Args:
            data: The record, in the form that the decoder accepts.
            items: Names of the items.
        """

    @abstractmethod
    def list_items(self) -> list[str]:
        """Returns the names of the items."""


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
