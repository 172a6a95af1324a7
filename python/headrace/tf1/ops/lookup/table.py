"""Tables that are filled only once, and their initializers.

Source: `tf.lookup.StaticHashTable` and `tf.tables_initializer` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Protocol

from headrace.core.dtypes import DType, int64, resource
from headrace.core.shapes import TensorShape
from headrace.graph import (
    GraphKeys,
    Operation,
    Role,
    Tensor,
    TensorLike,
    define,
    get_collection,
    get_default_graph,
    name_scope,
)
from headrace.ops.control.control_flow import group, no_op
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.sparse.tensor import SparseTensor

__all__ = [
    "Initializer",
    "LookupInterface",
    "StaticHashTable",
    "initialize_all_tables",
    "tables_initializer",
]

_SCALAR = TensorShape([])


class LookupInterface(Protocol):
    """The interface of all tables."""

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""

    @property
    def name(self) -> str:
        """The last part of the operation's name."""

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of entries as an int64 scalar."""

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Adds operations that return the value of each key."""


class Initializer(Protocol):
    """The interface of table initializers."""

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""

    @property
    def shared_name(self) -> str:
        """The shared name of tables with the same content, or "" if there is none."""

    def initialize(self, table: StaticHashTable) -> Operation:
        """Adds the operation that fills a table."""


class StaticHashTable:
    """A table that its initializer fills once in each session.

    Args:
        initializer: The initializer that fills the table.
        default_value: The value of missing keys, a scalar.
        shared_name: Tables with the same name share their content in a session. Defaults to the
            shared name of the initializer.
        name: Name of the operation.

    Attributes:
        default_value: The value of missing keys, a tensor.

    Raises:
        TypeError: If the default value has a different type than the values.
        ValueError: If the default value is not a scalar.
    """

    def __init__(
        self,
        initializer: Initializer,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._initializer = initializer
        self._key_dtype, self._value_dtype = initializer.key_dtype, initializer.value_dtype
        self.default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self.default_value.shape.merge_with(_SCALAR)
        op = get_default_graph().create_op(
            "HashTableV2",
            [],
            [resource],
            output_shapes=[_SCALAR],
            name=name or "hash_table",
            attrs={
                "container": "",
                "shared_name": initializer.shared_name if shared_name is None else shared_name,
                "use_node_name_sharing": False,
                "key_dtype": self._key_dtype,
                "value_dtype": self._value_dtype,
            },
        )
        self._ref = op.outputs[0]
        self._init_op = initializer.initialize(self)

    @property
    def resource_handle(self) -> Tensor:
        """The tensor that represents the table."""
        return self._ref

    @property
    def table_ref(self) -> Tensor:
        """The tensor that represents the table."""
        return self._ref

    @property
    def name(self) -> str:
        """The last part of the operation's name."""
        return self._ref.op.name.split("/")[-1]

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table. A second run changes nothing."""
        return self._init_op

    @property
    def init(self) -> Operation:
        """The operation that fills the table."""
        return self._init_op

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of entries (0 before the table is filled).

        Args:
            name: Name of the scope.
        """
        with name_scope(name, f"{self.name}_Size", [self._ref]):
            table = Input("table_handle", self._ref, resource)
            op = apply_op("LookupTableSizeV2", [table], lambda _: [(int64, _SCALAR)])
        return op.outputs[0]

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Adds an operation that returns the value of each key.

        Args:
            keys: The keys, dense or sparse.
            name: Name of the scope.

        Returns:
            A tensor with the shape of `keys`, with the default value for missing keys. If `keys` is
            sparse, so is the result.

        Raises:
            FailedPreconditionError: At run time, if the table has not been filled.
            TypeError: If the keys have the wrong type.
        """
        values = keys.values if isinstance(keys, SparseTensor) else keys
        key_tensor = convert_to_tensor(values)
        if key_tensor.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: "
                f"{key_tensor.dtype.base_dtype}"
            )
        with name_scope(name, f"{self.name}_Lookup", [self._ref, key_tensor, self.default_value]):
            inputs = [
                Input("table_handle", self._ref, resource),
                Input("keys", key_tensor, var="Tin"),
                Input("default_value", self.default_value, var="Tout"),
            ]
            outputs = [(self._value_dtype, key_tensor.shape)]
            op = apply_op("LookupTableFindV2", inputs, lambda *_: outputs)
        result = op.outputs[0]
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, result, keys.dense_shape)
        return result

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Adds an operation that returns all keys and values, two vectors.

        Args:
            name: Name of the scope.

        Raises:
            FailedPreconditionError: At run time, if the table has not been filled.
        """
        with name_scope(name, f"{self.name}_export_values", [self._ref]):
            table = Input("table_handle", self._ref, resource)
            vector = TensorShape([None])
            outputs = [(self._key_dtype, vector), (self._value_dtype, vector)]
            attrs = {"Tkeys": self._key_dtype, "Tvalues": self._value_dtype}
            op = apply_op("LookupTableExportV2", [table], lambda _: outputs, attrs=attrs)
        keys, values = op.outputs
        return keys, values


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Adds an operation that fills all tables of the default graph.

    Args:
        name: Name of the operation.
    """
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """The old name of `tables_initializer`."""
    return tables_initializer(name)


define("HashTableV2", role=Role.LOOKUP_TABLE)
define("InitializeTableFromTextFileV2", is_stateful=True)
define("LookupTableExportV2", is_stateful=True)
define("LookupTableFindV2", is_stateful=True)
define("LookupTableImportV2", is_stateful=True)
define("LookupTableInsertV2", is_stateful=True)
define("LookupTableRemoveV2", is_stateful=True)
define("LookupTableSizeV2", is_stateful=True)
