"""Tables that hash unknown keys into buckets.

Source: `tf.lookup.StaticVocabularyTable` and `tf.contrib.lookup.IdTableWithHashBuckets` of
TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, string
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.ops.array.where import where
from headrace.ops.control.control_flow import no_op
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.math.arithmetic import add
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import not_equal
from headrace.ops.sparse.tensor import SparseTensor
from headrace.ops.strings.convert import as_string
from headrace.ops.strings.hash_bucket import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from headrace.tf1.ops.lookup.table import Initializer, StaticHashTable

__all__ = [
    "FastHashSpec",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "StaticVocabularyTable",
    "StrongHashSpec",
]


class HasherSpec(NamedTuple):
    """The hash function for keys.

    Attributes:
        hasher: "fasthash", "stronghash" or "legacy".
        key: Two integers, for "stronghash".
    """

    hasher: str
    key: Sequence[int] | None


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """A keyed hash function. Without the two integers, nobody can create keys that collide.

    Args:
        key: The two integers.

    Raises:
        ValueError: If `key` is not exactly two integers.
    """

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        """Checks the key."""
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        return super().__new__(cls, "stronghash", list(key))


class IdTableWithHashBuckets:
    """A table that maps keys to numbers. Unknown keys are hashed to the next higher numbers.

    Args:
        table: A table that maps keys to int64 numbers starting at 0. If None, there are only
            buckets.
        num_oov_buckets: The number of buckets.
        hasher_spec: The hash function for strings. Integers are converted to decimal digits.
        name: The name of the scope. Defaults to the name of the table.
        key_dtype: The type of the keys to look up. Defaults to the type in the table.

    Raises:
        TypeError: If the type of the keys or values is not supported.
        ValueError: If `table` is None and `num_oov_buckets` is 0.
    """

    def __init__(
        self,
        table: StaticHashTable | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        if name is not None:
            name = name.rstrip("/")
        if table is not None:
            own = table.key_dtype
            asked = own if key_dtype is None else as_dtype(key_dtype)
            if not (asked.is_integer or asked == string):
                raise TypeError(f"Invalid `key_dtype`, expected integer or string but got {asked}.")
            if asked.is_integer != own.is_integer:
                raise TypeError("Invalid `key_dtype`, expected an integer type for integer keys.")
            if table.value_dtype != int64:
                raise TypeError(
                    f"Invalid `value_dtype`, expected {int64} but got {table.value_dtype}."
                )
            name = name or table.name
        else:
            if num_oov_buckets <= 0:
                raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
            asked = string if key_dtype is None else as_dtype(key_dtype)
            name = name or "hash_bucket"
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(hasher_spec)}.")
        self._table = table
        self._num_buckets = num_oov_buckets
        self._hasher_spec = hasher_spec
        self._key_dtype = asked
        self._name = name.split("/")[-1]
        self._init_op = None if table is None else table.initializer

    @property
    def name(self) -> str:
        """The last part of the operation's name."""
        return self._name

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values, int64."""
        return int64

    @property
    def resource_handle(self) -> Tensor | None:
        """The tensor that represents the table, or None if there are only buckets."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table. It does nothing if there is no table."""
        if self._init_op is None:
            with name_scope(None, "init"):
                self._init_op = no_op()
        return self._init_op

    @property
    def init(self) -> Operation:
        """The operation that fills the table."""
        return self.initializer

    def size(self, name: str | None = None) -> Tensor:
        """Adds operations that return the number of entries and buckets as an int64 scalar.

        Args:
            name: Name of the scope.
        """
        with name_scope(name, f"{self._name}_Size"):
            if self._table is None:
                return constant(self._num_buckets, int64)
            return self._table.size() + constant(self._num_buckets, int64, name="add/y")

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Adds operations that return the number of each key.

        Args:
            keys: The keys, dense or sparse.
            name: Name of the scope.

        Returns:
            An int64 tensor with the shape of `keys`. If `keys` is sparse, so is the result.

        Raises:
            FailedPreconditionError: At run time, if the table has not been filled.
            TypeError: If the keys have the wrong type.
        """
        values = convert_to_tensor(keys.values if isinstance(keys, SparseTensor) else keys)
        if values.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: "
                f"{values.dtype.base_dtype}"
            )
        table = self._table
        if table is not None and table.key_dtype.is_integer:
            values = cast(values, table.key_dtype)
        if table is not None and self._num_buckets == 0:
            result = table.lookup(values, name=name)
        else:
            with name_scope(name, f"{self._name}_Lookup"):
                result = self._bucket(values)
                if table is not None:
                    ids = table.lookup(values)
                    buckets = add(result, table.size(), name="Add")
                    result = where(not_equal(ids, table.default_value), ids, buckets)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, result, keys.dense_shape)
        return result

    def _bucket(self, values: Tensor) -> Tensor:
        hash_them = _hasher(self._hasher_spec)
        texts = values if values.dtype.base_dtype == string else as_string(values)
        return hash_them(texts, self._num_buckets)


def _hasher(spec: HasherSpec) -> Callable[[Tensor, int], Tensor]:
    def name_of(function: Callable[..., Tensor]) -> Callable[[Tensor, int], Tensor]:
        return lambda texts, count: function(texts, count, name="hash_bucket")

    if spec.hasher == "fasthash":
        return name_of(string_to_hash_bucket_fast)
    if spec.hasher == "legacy":
        return name_of(string_to_hash_bucket)
    if spec.hasher == "stronghash":
        key = spec.key or ()
        return lambda texts, count: string_to_hash_bucket_strong(
            texts, count, key, name="hash_bucket"
        )
    raise ValueError(f"Found unknown hasher {spec.hasher} in `hasher_spec`")


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table that an initializer fills, with buckets for missing keys.

    Args:
        initializer: Maps keys to int64 numbers starting at 0.
        num_oov_buckets: The number of buckets, at least one.
        lookup_key_dtype: The type of the keys to look up. Defaults to the type in the table.
        name: Name of the table's operation.

    Raises:
        TypeError: If the type of the keys or values is not supported.
        ValueError: If `num_oov_buckets` is less than 1.
    """

    def __init__(
        self,
        initializer: Initializer,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer.value_dtype != int64:
            raise TypeError(
                f"Invalid `value_dtype`, expected {int64} but got {initializer.value_dtype}."
            )
        table = StaticHashTable(initializer, -1, name=name)
        super().__init__(table, num_oov_buckets, key_dtype=lookup_key_dtype)
