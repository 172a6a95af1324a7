"""`slim.data_provider`: provides the tensors of named items.

Source: `tf.contrib.slim.data_provider` in TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.tf1.namespace import namespace

__all__ = ["DataProvider"]


class DataProvider:
    """Provides the tensors of one example, by item name.

    Args:
        items_to_tensors: The tensors.
        num_samples: The number of examples, or None if unknown.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = dict(items_to_tensors)
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Returns the tensors of items, in the order of `items`.

        Raises:
            ValueError: If `items` is not a list or tuple, or an item does not exist.
        """
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(
                    f"Item [{item}] is invalid. Valid entries include: {self.list_items()}"
                )
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """Returns the number of examples, or None if it is unknown."""
        return self._num_samples


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
