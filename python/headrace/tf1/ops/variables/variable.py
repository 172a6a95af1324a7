"""Variables: tensors that a session keeps and changes.

Source: `tf.Variable` in TensorFlow 1.15, in its default form of reference variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import numpy.typing as npt

from headrace.core.dtypes import DType, DTypeLike
from headrace.core.repr_prefix import displayed_name
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, unknown_shape
from headrace.graph import (
    Graph,
    GraphKeys,
    IndexLike,
    Operation,
    Role,
    Tensor,
    TensorLike,
    define,
    get_default_graph,
    get_default_session,
    name_scope,
)
from headrace.ops.framework.conversion import convert_to_tensor, register_tensor_conversion_function
from headrace.tf1.ops.variables.assign import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    initialized_value,
)
from headrace.tf1.ops.variables.initial_values import guard_initial_value
from headrace.tf1.ops.variables.scatter import (
    batch_scatter_update,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)

__all__ = ["Variable"]

# The initial value of a variable, or a function that returns it.
InitialValue: TypeAlias = "TensorLike | Callable[..., TensorLike]"

_OPERATORS: Final = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor"),
    *("lt", "le", "gt", "ge", "invert", "neg", "abs", "getitem"),
)


class Variable:
    """A tensor whose value is kept between the runs of a session.

    A variable has no value in a session until its initializer has run there. In an expression, use
    the variable like its value.

    Args:
        initial_value: The value that the initializer assigns: anything that can be converted to a
            tensor, or a function that returns such a value. It can use other variables, in any
            order.
        trainable: Whether the variable is also added to `GraphKeys.TRAINABLE_VARIABLES`.
        collections: The keys of the collections that the variable is added to. Defaults to
            `[GraphKeys.GLOBAL_VARIABLES]`.
        validate_shape: Whether the variable always keeps the shape of the initial value.
        dtype: The type of the elements. Defaults to the type of the initial value.
        shape: The static shape. Defaults to the shape of the initial value.
        constraint: A function, which is stored as the attribute `constraint`.
        name: The name, which is made unique.

    Raises:
        TypeError: If the initial value cannot be converted to the type.
        ValueError: If the initial value is None, or its shape is unknown and `validate_shape` is
            True. Also raised if `collections` is not a list, or `constraint` is not a function.
    """

    # Turns `ndarray + variable` into `variable.__radd__(ndarray)`.
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: InitialValue,
        *,
        trainable: bool = True,
        collections: Collection[str] | None = None,
        validate_shape: bool = True,
        dtype: DTypeLike | None = None,
        shape: ShapeLike = None,
        constraint: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._constraint = constraint
        self._trainable = trainable
        keys = _collection_keys(collections, trainable)
        is_function = callable(initial_value)
        with (
            name_scope(name, "Variable", [] if is_function else [initial_value]) as scope,
            get_default_graph().control_dependencies(None),
        ):
            graph = get_default_graph()
            with graph.name_scope("Initializer") if is_function else nullcontext():
                value = initial_value() if callable(initial_value) else initial_value
                self._initial_value = convert_to_tensor(value, dtype=dtype, name="initial_value")
            if self._initial_value.op.branch is not None:
                raise ValueError(
                    f"Initializer for variable {scope} is from inside a control-flow construct, "
                    "such as a loop or conditional. When creating a variable inside a loop or "
                    "conditional, use a lambda as the initializer."
                )
            self._ref = self._create(graph, scope, validate_shape, shape)
            self._ref.op.owner = self
            guarded = guard_initial_value(self._initial_value, scope[:-1])
            self._initializer = assign(self._ref, guarded, validate_shape).op
            self._snapshot = _read(self._ref)
        graph.add_to_collections(keys, self)

    def _create(self, graph: Graph, scope: str, validate_shape: bool, shape: ShapeLike) -> Tensor:
        static_shape = self._initial_value.shape if validate_shape else unknown_shape()
        if validate_shape and not static_shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {self._initial_value}")
        if shape is not None:
            static_shape = static_shape.merge_with(as_shape(shape))
        dtype = self._initial_value.dtype.base_dtype
        op = graph.create_op(
            "VariableV2",
            [],
            [dtype._as_ref],
            output_shapes=[static_shape],
            name=scope,
            attrs={"dtype": dtype, "shape": static_shape, "container": "", "shared_name": ""},
        )
        return op.outputs[0]

    @property
    def name(self) -> str:
        """The name of the tensor that represents the variable, such as `v:0`."""
        return self._ref.name

    @property
    def op(self) -> Operation:
        """The operation that represents the variable."""
        return self._ref.op

    @property
    def graph(self) -> Graph:
        """The graph that the variable belongs to."""
        return cast(Graph, self._ref.graph)

    @property
    def dtype(self) -> DType:
        """The type of the elements, a reference type."""
        return self._ref.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of the value."""
        return self._ref.shape

    @property
    def device(self) -> str:
        """The device that was requested for the operation."""
        return self._ref.device

    @property
    def trainable(self) -> bool:
        """Whether the variable was created for training."""
        return self._trainable

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """The constraint that was passed to the constructor, for code that trains the variable."""
        return self._constraint

    @property
    def initial_value(self) -> Tensor:
        """The initial value that was passed to the constructor."""
        return self._initial_value

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    def get_shape(self) -> TensorShape:
        """Returns the static shape of the value."""
        return self._ref.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape into the static shape."""
        self._ref.set_shape(shape)
        self._snapshot.set_shape(shape)

    def value(self) -> Tensor:
        """Returns the tensor that reads the variable."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Adds another operation that reads the variable, with the current control dependencies."""
        return _read(self._ref)

    def initialized_value(self) -> Tensor:
        """Adds an operation that reads the variable, or its initial value if it has no value."""
        return initialized_value(self._ref, self._initializer.inputs[1])

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds an operation that replaces the value; see `tf.assign`.

        Returns:
            The new value, or the operation if `read_value` is False.
        """
        tensor = assign(self, value, use_locking=use_locking, name=name)
        return tensor if read_value else tensor.op

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds an operation that adds `delta` to the value; see `assign`."""
        tensor = assign_add(self, delta, use_locking, name)
        return tensor if read_value else tensor.op

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds an operation that subtracts `delta` from the value; see `assign`."""
        tensor = assign_sub(self, delta, use_locking, name)
        return tensor if read_value else tensor.op

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_update`; the rows are `IndexedSlices`."""
        return scatter_update(self, *_parts(sparse_delta), use_locking, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_add`; the rows are `IndexedSlices`."""
        return scatter_add(self, *_parts(sparse_delta), use_locking, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_sub`; the rows are `IndexedSlices`."""
        return scatter_sub(self, *_parts(sparse_delta), use_locking, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_mul`; the rows are `IndexedSlices`."""
        return scatter_mul(self, *_parts(sparse_delta), use_locking, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_div`; the rows are `IndexedSlices`."""
        return scatter_div(self, *_parts(sparse_delta), use_locking, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_min`; the rows are `IndexedSlices`."""
        return scatter_min(self, *_parts(sparse_delta), use_locking, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_max`; the rows are `IndexedSlices`."""
        return scatter_max(self, *_parts(sparse_delta), use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """See `tf.batch_scatter_update`; the slices are `IndexedSlices`."""
        return batch_scatter_update(self, *_parts(sparse_delta), use_locking, name)

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_nd_update`."""
        return scatter_nd_update(self, indices, updates, use_locking=True, name=name)

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_nd_add`."""
        return scatter_nd_add(self, indices, updates, use_locking=True, name=name)

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """See `tf.scatter_nd_sub`."""
        return scatter_nd_sub(self, indices, updates, use_locking=True, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """See `tf.count_up_to`."""
        return count_up_to(self, limit)

    def load(self, value: npt.ArrayLike, session: Any = None) -> None:
        """Replaces the value in a session, without adding to the graph.

        Args:
            value: An array of the same shape.
            session: The session. Defaults to the default session.

        Raises:
            ValueError: If `session` is None and there is no default session, or the value has the
                wrong shape.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def eval(self, session: Any = None) -> Any:
        """Returns the value in a session, by default in the default session."""
        return self._snapshot.eval(session=session)

    def _as_graph_element(self) -> Tensor:
        return self._ref

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        kind = displayed_name("headrace.tf1", "Variable")
        return f"<{kind} '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    if TYPE_CHECKING:
        # Operators on the variable's value. See `_forward_operator`.
        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __xor__(self, other: TensorLike) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: TensorLike) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, key: IndexLike) -> Tensor: ...


def _parts(slices: Any) -> tuple[TensorLike, TensorLike]:
    """Returns the positions of slices, and the slices."""
    if not (hasattr(slices, "indices") and hasattr(slices, "values")):
        raise TypeError(f"sparse_delta is not IndexedSlices: {slices}")
    return slices.indices, slices.values


def restored_variable(
    ref: Tensor, initializer: Operation, snapshot: Tensor, initial_value: Tensor, trainable: bool
) -> Variable:
    """Wraps existing graph operations in a variable, without adding operations.

    Args:
        ref: The tensor that represents the variable.
        initializer: The operation that assigns the initial value.
        snapshot: The tensor that reads the variable.
        initial_value: The initial value.
        trainable: Whether the variable was created for training.
    """
    if isinstance(ref.op.owner, Variable):
        return ref.op.owner
    variable = Variable.__new__(Variable)
    variable._constraint = None
    variable._trainable = trainable
    variable._initial_value = initial_value
    variable._ref = ref
    variable._initializer = initializer
    variable._snapshot = snapshot
    ref.op.owner = variable
    return variable


def _collection_keys(collections: Collection[str] | None, is_trainable: bool) -> list[str]:
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    keys = list(collections)
    if is_trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
        keys.append(GraphKeys.TRAINABLE_VARIABLES)
    return keys


def _read(ref: Tensor) -> Tensor:
    dtype = ref.dtype.base_dtype
    op = ref.graph.create_op(
        "Identity", [ref], [dtype], output_shapes=[ref.shape], name="read", attrs={"T": dtype}
    )
    return op.outputs[0]


def _convert_variable(
    value: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{value.dtype.name}'"
        )
    return value._as_graph_element() if as_ref else value.value()


def _forward_operator(method: str) -> None:
    """Gives variables an operator that works on their values."""

    def operator(self: Variable, *args: Any) -> Any:
        return getattr(self.value(), method)(*args)

    operator.__name__ = method
    setattr(Variable, method, operator)


for _name in _OPERATORS:
    _forward_operator(f"__{_name}__")
register_tensor_conversion_function(Variable, _convert_variable, 50)


define("VariableV2", role=Role.VARIABLE)
