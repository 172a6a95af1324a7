"""Vocabulary tables, which map words to their numbers and back.

Source: `tf.contrib.lookup` in TensorFlow 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype, int64, string
from headrace.graph import TensorLike, name_scope
from headrace.ops.array.range import range as number_range
from headrace.ops.array.shape import size
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.tf1.ops.lookup.buckets import FastHashSpec, HasherSpec, IdTableWithHashBuckets
from headrace.tf1.ops.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from headrace.tf1.ops.lookup.table import StaticHashTable

__all__ = [
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
]


def index_table_from_file(
    vocabulary_file: TensorLike | os.PathLike[str] | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> StaticHashTable | IdTableWithHashBuckets:
    """Returns a table that maps the lines of a file to their line numbers.

    Args:
        vocabulary_file: The file.
        num_oov_buckets: The number of additional ids for words that are not in the file.
        vocab_size: The number of lines to read. Defaults to all lines.
        default_value: The id for words that are not in the file, if there are no buckets.
        hasher_spec: The hash function that selects the bucket of such a word.
        key_dtype: The type of the words: string or an integer type.
        name: Name of the scope.
        key_column_index: The part of a line that is the word; see `TextFileInitializer`.
        value_column_index: The part of a line that is the number.
        delimiter: The separator of columns.

    Raises:
        TypeError: If keys are neither strings nor integers.
        ValueError: If the file name is missing, or a number is too small.
    """
    path = _checked_file(vocabulary_file)
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: "
            f"{vocabulary_file}."
        )
    words = as_dtype(key_dtype)
    if not (words.is_integer or words == string):
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with name_scope(name, "string_to_index"), name_scope(None, "hash_table"):
        initializer = TextFileIdTableInitializer(
            path,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
            int64 if words.is_integer else words,
        )
        table = StaticHashTable(initializer, default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=words)
        return table


def index_table_from_tensor(
    vocabulary_list: TensorLike | None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """Returns a table that maps the elements of a vector to their indices.

    Args:
        vocabulary_list: The words, a vector.
        num_oov_buckets: The number of additional ids for words that are not in the vector.
        default_value: The id for words that are not in the vector, if there are no buckets.
        hasher_spec: The hash function that selects the bucket of such a word.
        dtype: The type of the words: string or an integer type.
        name: Name of the scope.

    Raises:
        TypeError: If words are neither strings nor integers.
        ValueError: If `vocabulary_list` is empty, the type of the words is not supported, or a
            number is too small.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    _check_buckets(num_oov_buckets)
    asked = as_dtype(dtype)
    if not (asked.is_integer or asked == string):
        raise TypeError("`dtype` must either be integer or string.")
    with name_scope(name, "string_to_index"):
        words = convert_to_tensor(vocabulary_list)
        if words.dtype.is_integer != asked.is_integer:
            kind = "integer" if asked.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {kind}, got {words.dtype.base_dtype}.")
        if not asked.is_integer and words.dtype.base_dtype != asked:
            raise ValueError(f"Invalid `dtype`: Expected {asked}, got {words.dtype.base_dtype}.")
        numbers = cast(number_range(size(words)), int64)
        with name_scope(None, "hash_table"):
            keys = cast(words, int64) if words.dtype.is_integer else words
            initializer = KeyValueTensorInitializer(
                keys, numbers, keys.dtype.base_dtype, int64, name="table_init"
            )
            table = StaticHashTable(initializer, default_value)
            if num_oov_buckets:
                return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=asked)
            return table


def index_to_string_table_from_file(
    vocabulary_file: TensorLike | os.PathLike[str],
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Returns a table that maps the line numbers of a file to its lines.

    Args:
        vocabulary_file: The file.
        vocab_size: The number of lines to read. Defaults to all lines.
        default_value: The string for other numbers.
        name: Name of the scope.
        key_column_index: The part of a line that is the number; see `TextFileInitializer`.
        value_column_index: The part of a line that is the string.
        delimiter: The separator of columns.

    Raises:
        ValueError: If the file name is missing, or `vocab_size` is less than 1.
    """
    path = _checked_file(vocabulary_file)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            path,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        return StaticHashTable(initializer, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike | None, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table that maps the indices of a vector to its elements.

    Args:
        vocabulary_list: The words, a vector of strings.
        default_value: The string for other indices.
        name: Name of the scope.

    Raises: ValueError: If `vocabulary_list` is empty.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(vocabulary_list, string)
        numbers = cast(number_range(size(words)), int64)
        initializer = KeyValueTensorInitializer(numbers, words, int64, string, name="table_init")
        return StaticHashTable(initializer, default_value)


def string_to_index(
    tensor: Any, mapping: TensorLike, default_value: int = -1, name: str | None = None
) -> Any:
    """Returns the index of each string in a vector; see `index_table_from_tensor`.

    Args:
        tensor: The strings, dense or sparse.
        mapping: The vector.
        default_value: The index for strings that are not in the vector.
        name: Name of the scope.
    """
    table = index_table_from_tensor(mapping, default_value=default_value, name=name)
    return table.lookup(tensor)


def index_to_string(
    tensor: Any, mapping: TensorLike, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Returns the string at each index of a vector; see `index_to_string_table_from_tensor`.

    Args:
        tensor: The indices, int64, dense or sparse.
        mapping: The vector of strings.
        default_value: The string for other indices.
        name: Name of the scope.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


def _checked_file(name: TensorLike | os.PathLike[str] | None) -> TensorLike | os.PathLike[str]:
    if name is None or (isinstance(name, (str, bytes)) and not name):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    return name


def _check_buckets(count: int) -> None:
    if count < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {count}.")
