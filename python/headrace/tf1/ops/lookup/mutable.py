"""Tables that programs change while they run.

Source: `tf.contrib.lookup.MutableHashTable` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, resource
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import (
    GraphKeys,
    Operation,
    Role,
    Tensor,
    TensorLike,
    add_to_collection,
    colocate_with,
    define,
    get_default_graph,
    name_scope,
)
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.conversion import convert_to_tensor

__all__ = ["MutableHashTable"]

_SCALAR = TensorShape([])


class MutableHashTable:
    """A table that is initially empty. Operations add and remove entries while the program runs.

    Args:
        key_dtype: The type of the keys: string, int32 or int64.
        value_dtype: The type of the values.
        default_value: The value of missing keys: a scalar, or a tensor with the shape of the
            values.
        shared_name: Tables with the same name share their content in a session. By default, the
            table is not shared.
        name: The name of the operation. It is also the name of the table in checkpoints.
        checkpoint: Whether a `Saver` without `var_list` saves the entries.

    Raises:
        InvalidArgumentError: When first run, if the types of the keys and values are not supported.
        TypeError: If the default value has a different type than the values.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, dtype=self._value_dtype)
        shape = self._default.shape
        attrs = {
            "container": "",
            "shared_name": shared_name or "",
            "use_node_name_sharing": checkpoint and shared_name is None,
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
        }
        is_scalar = shape.rank == 0
        op = get_default_graph().create_op(
            "MutableHashTableV2" if is_scalar else "MutableHashTableOfTensorsV2",
            [],
            [resource],
            output_shapes=[_SCALAR],
            name=name,
            attrs=attrs if is_scalar else attrs | {"value_shape": shape},
        )
        self._ref = op.outputs[0]
        # The last part of the operation's name. The names of the other operations are derived from
        # it.
        self._stem = op.name.split("/")[-1]
        self._exported: tuple[Tensor, Tensor] | None = None
        if checkpoint:
            self._exported = self.export()
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self)

    @property
    def resource_handle(self) -> Tensor:
        """The tensor that represents the table."""
        return self._ref

    @property
    def op(self) -> Operation:
        """The operation that represents the table."""
        return self._ref.op

    @property
    def name(self) -> str:
        """The last part of the operation's name."""
        return self._stem

    @property
    def saved_name(self) -> str:
        """The name in checkpoints."""
        return self._ref.op.name

    def exported(self) -> tuple[Tensor, Tensor]:
        """Returns the keys and values as checkpoints store them."""
        if self._exported is None:
            self._exported = self.export()
        return self._exported

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def value_shape(self) -> TensorShape:
        """The shape of each value."""
        return self._default.shape

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of entries as an int64 scalar."""
        with name_scope(name, f"{self._stem}_Size", [self._ref]), colocate_with(self._ref):
            op = apply_op("LookupTableSizeV2", [self._handle()], lambda _: [(int64, _SCALAR)])
        return op.outputs[0]

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Adds an operation that sets the values of keys, replacing existing ones.

        Args:
            keys: The keys, of any shape. If a key occurs several times, its last value is used.
            values: The values. Their shape is the shape of `keys`, followed by the shape of a
                value.
            name: Name of the scope.

        Raises:
            InvalidArgumentError: At run time, if the shapes do not match.
            TypeError: If a type does not match.
        """
        with name_scope(name, f"{self._stem}_lookup_table_insert", [self._ref, keys, values]):
            key_tensor = convert_to_tensor(keys, self._key_dtype, name="keys")
            new = convert_to_tensor(values, self._value_dtype, name="values")
            inputs = [
                self._handle(),
                Input("keys", key_tensor, var="Tin"),
                Input("values", new, var="Tout"),
            ]
            with colocate_with(self._ref):
                return apply_op("LookupTableInsertV2", inputs, lambda *_: [])

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Adds an operation that removes the entries of keys, if they exist.

        Args:
            keys: The keys, of any shape.
            name: Name of the scope.

        Raises:
            TypeError: If the keys have the wrong type.
        """
        tensor = keys if isinstance(keys, Tensor) else convert_to_tensor(keys)
        self._check(tensor)
        with name_scope(name, f"{self._stem}_lookup_table_remove", [self._ref, tensor]):
            inputs = [self._handle(), Input("keys", tensor, var="Tin")]
            return apply_op("LookupTableRemoveV2", inputs, lambda *_: [])

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Adds an operation that returns the value of each key.

        Args:
            keys: The keys, of any shape.
            name: Name of the scope.

        Returns:
            The values, with the default value for missing keys. Their shape is the shape of `keys`,
            followed by the shape of a value.

        Raises:
            TypeError: If the keys have the wrong type.
        """
        scope = [self._ref, keys, self._default]
        with name_scope(name, f"{self._stem}_lookup_table_find", scope):
            key_tensor = convert_to_tensor(keys, self._key_dtype, name="keys")
            inputs = [
                self._handle(),
                Input("keys", key_tensor, var="Tin"),
                Input("default_value", self._default, var="Tout"),
            ]
            outputs = [(self._value_dtype, key_tensor.shape.concatenate(self._default.shape))]
            with colocate_with(self._ref):
                return apply_op("LookupTableFindV2", inputs, lambda *_: outputs).outputs[0]

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Adds an operation that returns all keys, in ascending order, and their values.

        Args:
            name: Name of the scope.

        Returns:
            A vector of keys, and the values with one row per key.
        """
        with (
            name_scope(name, f"{self._stem}_lookup_table_export_values", [self._ref]),
            colocate_with(self._ref),
        ):
            outputs = [(self._key_dtype, unknown_shape()), (self._value_dtype, unknown_shape())]
            attrs = {"Tkeys": self._key_dtype, "Tvalues": self._value_dtype}
            op = apply_op("LookupTableExportV2", [self._handle()], lambda _: outputs, attrs=attrs)
        keys, values = op.outputs
        return keys, values

    def _handle(self) -> Input:
        return Input("table_handle", self._ref, resource)

    def _check(self, keys: Tensor) -> None:
        actual_dtype = keys.dtype.base_dtype
        if actual_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {actual_dtype}"
            )


define("MutableHashTableOfTensorsV2", role=Role.LOOKUP_TABLE)
define("MutableHashTableV2", role=Role.LOOKUP_TABLE)
