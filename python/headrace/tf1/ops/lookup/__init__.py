"""Lookup tables in a graph, which map words to numbers and back.

A table object adds operations on one table to the graph. The table's entries belong to the session
that runs the operations. They come from the table's initializer, or are added while the program
runs.

Source: `tf.lookup` and `tf.contrib.lookup` in TensorFlow 1.15.
"""

from headrace.tf1.ops.lookup.buckets import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    StaticVocabularyTable,
    StrongHashSpec,
)
from headrace.tf1.ops.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)
from headrace.tf1.ops.lookup.mutable import MutableHashTable
from headrace.tf1.ops.lookup.table import (
    LookupInterface,
    StaticHashTable,
    initialize_all_tables,
    tables_initializer,
)
from headrace.tf1.ops.lookup.vocabularies import (
    index_table_from_file,
    index_table_from_tensor,
    index_to_string,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
    string_to_index,
)

__all__ = [
    "FastHashSpec",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableHashTable",
    "StaticHashTable",
    "StaticVocabularyTable",
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
    "initialize_all_tables",
    "string_to_index",
    "tables_initializer",
]
