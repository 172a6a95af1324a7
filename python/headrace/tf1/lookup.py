"""`tf.lookup`: tables that map keys to values."""

from typing import TYPE_CHECKING

from headrace.graph import TensorLike
from headrace.tf1.namespace import namespace
from headrace.tf1.ops import lookup
from headrace.tf1.ops.lookup import (
    KeyValueTensorInitializer,
    StaticVocabularyTable,
    TextFileIndex,
    TextFileInitializer,
)
from headrace.tf1.ops.lookup.table import Initializer

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]


class StaticHashTable(lookup.StaticHashTable):
    """A table that its initializer fills once in each session; see `ops.lookup.StaticHashTable`.

    Args:
        initializer: The initializer that fills the table.
        default_value: The value of missing keys, a scalar.
        name: Name of the operation.

    Raises:
        TypeError: If the default value has a different type than the values.
        ValueError: If the default value is not a scalar.
    """

    def __init__(
        self, initializer: Initializer, default_value: TensorLike, name: str | None = None
    ) -> None:
        super().__init__(initializer, default_value, name=name)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
