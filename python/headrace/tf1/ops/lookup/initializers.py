"""Table initializers, from tensors or from the lines of text files.

Source: `tf.lookup.KeyValueTensorInitializer` and `tf.lookup.TextFileInitializer` of TensorFlow
1.15.
"""

from __future__ import annotations

import os
from typing import Any

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, resource, string
from headrace.graph import (
    GraphKeys,
    Operation,
    Tensor,
    TensorLike,
    add_to_collection,
    name_scope,
)
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import ShapeConflict
from headrace.tf1.ops.lookup.table import StaticHashTable
from headrace.tf1.ops.paths import with_paths_as_strings

__all__ = [
    "KeyValueTensorInitializer",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
]


class TextFileIndex:
    """The parts of a line, other than columns, that can be used as a key or a value."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Fills a table with keys and their values.

    Args:
        keys: A vector.
        values: A vector of the same length.
        key_dtype: The type of the keys. Defaults to the type of `keys`.
        value_dtype: The type of the values. Defaults to the type of `values`.
        name: Name of the scope.

    Raises:
        TypeError: If keys or values cannot be converted to the requested type.
    """

    shared_name = ""

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
        self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = "key_value_init" if name is None else name

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._keys.dtype.base_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype.base_dtype

    def initialize(self, table: StaticHashTable) -> Operation:
        """Adds the operation that fills a table.

        Args:
            table: The table.

        Raises:
            FailedPreconditionError: At run time, if a key occurs twice with different values, or
                the table was filled with a different number of entries.
            TypeError: If the table has keys or values of other types.
            ValueError: If the numbers of keys and values differ.
        """
        _check_types(table, self.key_dtype, self.value_dtype)

        def infer(_: Tensor, keys: Tensor, values: Tensor) -> list[Any]:
            if not keys.shape.is_compatible_with(values.shape):
                sizes = [shape[0] for shape in (keys.shape, values.shape)]
                raise ShapeConflict(f"Dimensions must be equal, but are {sizes[0]} and {sizes[1]}")
            return []

        with name_scope(self._name, None, [table.resource_handle, self._keys, self._values]):
            inputs = [
                Input("table_handle", table.resource_handle, resource),
                Input("keys", self._keys, var="Tin"),
                Input("values", self._values, var="Tout"),
            ]
            op = apply_op("LookupTableImportV2", inputs, infer)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


class TextFileInitializer:
    r"""Fills a table with the lines of a text file.

    Args:
        filename: The file: a scalar string, a path or a URL. Lines end in `\n` or `\r\n`.
        key_dtype: The type of the keys.
        key_index: The part of a line that is the key: a column number or a `TextFileIndex`.
        value_dtype: The type of the values.
        value_index: The part of a line that is the value; see `key_index`.
        vocab_size: The number of lines to read. Defaults to all lines.
        delimiter: The separator of columns, one character.
        name: Name of the scope.

    Raises:
        ValueError: If an index is below -2, or a type is invalid for a line or a line number.
    """

    def __init__(
        self,
        filename: TensorLike | os.PathLike[str],
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for what, dtype, index in (
            ("key", self._key_dtype, key_index),
            ("value", self._value_dtype, value_index),
        ):
            _check_index(what, dtype, index)
        self._attrs = {
            "key_index": int(key_index),
            "value_index": int(value_index),
            "vocab_size": -1 if vocab_size is None else int(vocab_size),
            "delimiter": delimiter,
        }
        self._vocab_size = vocab_size
        self._name = "text_file_init" if name is None else name
        path = with_paths_as_strings(filename)
        self._path = None if isinstance(path, Tensor) else path
        self._filename = convert_to_tensor(path, string, name="asset_path")
        add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def shared_name(self) -> str:
        """The shared name. Tables of one file share their content if keys and values match."""
        if self._path is None:
            return ""
        path = self._path.decode() if isinstance(self._path, bytes) else self._path
        size = "" if self._vocab_size is None else f"_{self._vocab_size}"
        return f"hash_table_{path}{size}_{self._attrs['key_index']}_{self._attrs['value_index']}"

    def initialize(self, table: StaticHashTable) -> Operation:
        """Adds the operation that fills a table.

        Args:
            table: The table.

        Raises:
            FailedPreconditionError: When run; see `KeyValueTensorInitializer`.
            InvalidArgumentError: At run time, if a line is empty or lacks a column, a number is
                invalid, or the file has fewer lines than `vocab_size`.
            NotFoundError: At run time, if the file does not exist.
            TypeError: If the table has keys or values of other types.
        """
        _check_types(table, self._key_dtype, self._value_dtype)
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            inputs = [
                Input("table_handle", table.resource_handle, resource),
                Input("filename", self._filename, string),
            ]
            attrs = self._attrs
            op = apply_op("InitializeTableFromTextFileV2", inputs, lambda *_: [], attrs=attrs)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table that maps numbers to strings: by default, line numbers to lines.

    Args:
        filename: See `TextFileInitializer`.
        key_column_index: The index of the column with the number.
        value_column_index: The index of the column with the string.
        vocab_size: See `TextFileInitializer`.
        delimiter: See `TextFileInitializer`.
        name: Name of the scope.
    """

    def __init__(
        self,
        filename: TensorLike | os.PathLike[str],
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename,
            int64,
            key_column_index,
            string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table that maps strings to numbers: by default, lines to line numbers.

    Args:
        filename: See `TextFileInitializer`.
        key_column_index: The part of a line that is the string.
        value_column_index: The part of a line that is the number.
        vocab_size: See `TextFileInitializer`.
        delimiter: See `TextFileInitializer`.
        name: Name of the scope.
        key_dtype: The type of the keys.
    """

    def __init__(
        self,
        filename: TensorLike | os.PathLike[str],
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: DTypeLike = string,
    ) -> None:
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


def _check_types(table: StaticHashTable, key: DType, value: DType) -> None:
    for what, has, declared_dtype in (
        ("key", table.key_dtype, key),
        ("value", table.value_dtype, value),
    ):
        if has != declared_dtype:
            raise TypeError(f"Invalid {what} dtype, expected {has} but got {declared_dtype}.")


def _check_index(what: str, dtype: DType, index: int) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype != int64:
        raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is -1, received: {dtype}")
    if index == TextFileIndex.WHOLE_LINE and not (dtype == string or dtype.is_integer):
        raise ValueError(
            f"`{what}_dtype` should be either integer or string for `{what}_index` "
            f"{TextFileIndex.WHOLE_LINE}, received: {dtype}"
        )
