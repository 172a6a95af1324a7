"""`tf.contrib.lookup`: tables that map keys to values, and vocabularies."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.ops.lookup import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    KeyValueTensorInitializer,
    LookupInterface,
    MutableHashTable,
    StrongHashSpec,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
    string_to_index,
)
from headrace.tf1.ops.lookup import StaticHashTable as HashTable

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
