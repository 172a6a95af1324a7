"""Variables: tensors that a session keeps and changes.

Source: `tf.Variable` of TensorFlow 1.15, in its default form of reference variables.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from headrace.dtypes import DType, as_dtype, string
from headrace.dtypes import bool as bool_dtype
from headrace.graph import (
    Graph,
    GraphKeys,
    Operation,
    Tensor,
    get_collection,
    get_default_graph,
    get_default_session,
    name_scope,
)
from headrace.ops.control_flow import group
from headrace.ops.conversion import (
    constant,
    convert_to_tensor,
    register_tensor_conversion_function,
)
from headrace.ops.kernel import NumpyKernel
from headrace.shapes import TensorShape, unknown_shape

__all__ = [
    "Variable",
    "all_variables",
    "assign",
    "assign_add",
    "assign_sub",
    "count_up_to",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


class Variable:
    """A tensor that each session keeps between its runs.

    It has no value in a session until its initializer has run there. Used as a tensor it stands for
    its value.

    Args:
        initial_value: What its initializer assigns: anything that converts to a tensor, or a
            function that returns that.
        trainable: Whether it is also added to `GraphKeys.TRAINABLE_VARIABLES`; None for True.
        collections: Keys of the collections it is added to; None for
            `[GraphKeys.GLOBAL_VARIABLES]`.
        validate_shape: Whether its shape is that of the initial value, for ever.
        caching_device: Accepted for TensorFlow's sake.
        name: Its name; made unique.
        variable_def: Not supported; must be None.
        dtype: Type of the elements; None for that of the initial value.
        expected_shape: Accepted for TensorFlow's sake.
        import_scope: Accepted for TensorFlow's sake.
        constraint: Kept as the attribute of that name.

    Raises:
        ValueError: If there is no initial value, or its shape is not known and `validate_shape`.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        **_ignored: Any,
    ) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if variable_def is not None:
            raise ValueError("variable_def is not supported: give an initial_value.")
        graph = get_default_graph()
        self.constraint = constraint
        self._trainable = True if trainable is None else trainable
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        with graph.control_dependencies(None), name_scope(name, "Variable") as scope:
            if callable(initial_value):
                with graph.name_scope("Initializer"):
                    initial_value = initial_value()
            self._initial_value = convert_to_tensor(
                initial_value, dtype=dtype, name="initial_value"
            )
            shape = self._initial_value.shape if validate_shape else unknown_shape()
            if validate_shape and not shape.is_fully_defined():
                raise ValueError(
                    f"initial_value must have a shape specified: {self._initial_value}"
                )
            self._ref = self._create(graph, scope, shape)
            self._initializer = _assign(
                self._ref, self._initial_value, validate_shape, f"{scope}Assign"
            ).op
            self._snapshot = _read(self._ref, f"{scope}read")
        graph.add_to_collections(keys, self)

    def _create(self, graph: Graph, scope: str, shape: TensorShape) -> Tensor:
        dtype = self._initial_value.dtype.base_dtype
        op = graph.create_op(
            "VariableV2",
            [],
            [as_dtype(f"{dtype.name}_ref")],
            output_shapes=[shape],
            name=scope,
            attrs={"dtype": dtype, "shape": shape, "container": "", "shared_name": ""},
        )
        return op.outputs[0]

    @property
    def name(self) -> str:
        """The name of the tensor that stands for it: `v:0`."""
        return self._ref.name

    @property
    def op(self) -> Operation:
        """The operation that stands for it."""
        return self._ref.op

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._ref.graph

    @property
    def dtype(self) -> DType:
        """Type of its elements, a reference type."""
        return self._ref.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of its value."""
        return self._ref.shape

    @property
    def device(self) -> str:
        """Always empty; devices are accepted and ignored."""
        return self._ref.device

    @property
    def trainable(self) -> bool:
        """Whether it was made for training."""
        return self._trainable

    @property
    def initial_value(self) -> Tensor:
        """The tensor that its initializer assigns."""
        return self._initial_value

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its first value."""
        return self._initializer

    def get_shape(self) -> TensorShape:
        """Returns the static shape of its value."""
        return self._ref.shape

    def value(self) -> Tensor:
        """Returns the tensor that reads it."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Adds another operation that reads it, subject to the control dependencies of now."""
        return _read(self._ref, "read")

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds an operation that replaces its value.

        Returns:
            The new value, or the operation if `read_value` is false.
        """
        tensor = assign(self, value, use_locking=use_locking, name=name)
        return tensor if read_value else tensor.op

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """As `assign`, of its value plus `delta`."""
        tensor = assign_add(self, delta, use_locking, name)
        return tensor if read_value else tensor.op

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """As `assign`, of its value minus `delta`."""
        tensor = assign_sub(self, delta, use_locking, name)
        return tensor if read_value else tensor.op

    def count_up_to(self, limit: int) -> Tensor:
        """See `count_up_to`."""
        return count_up_to(self, limit)

    def load(self, value: Any, session: Any = None) -> None:
        """Replaces its value in a session; adds nothing to the graph.

        Args:
            value: An array of its shape.
            session: The session; None for the default session.

        Raises:
            ValueError: If there is no session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self._initializer, {self._initial_value: value})

    def eval(self, session: Any = None) -> Any:
        """Returns its value in a session; None for the default session."""
        return self._snapshot.eval(session=session)

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows to the static shape."""
        self._ref.set_shape(shape)
        self._snapshot.set_shape(shape)

    def _as_graph_element(self) -> Tensor:
        return self._ref

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that replaces a variable's value; returns the new value.

    Raises:
        InvalidArgumentError: When run: the value has another shape, and `validate_shape`.
        TypeError: If the value cannot be converted to the variable's type.
        ValueError: If the static shapes differ, and `validate_shape`.
    """
    is_checked = True if validate_shape is None else validate_shape
    with name_scope(name, "Assign") as scope:
        target = _ref_of(ref)
        tensor = convert_to_tensor(value, dtype=target.dtype.base_dtype, name="value")
        return _assign(target, tensor, is_checked, scope)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Adds an operation that adds to a variable's value, not divided by other updates."""
    return _update("AssignAdd", ref, value, name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Adds an operation that subtracts from a variable's value, not divided by other updates."""
    return _update("AssignSub", ref, value, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Adds an operation that returns a variable's value and then adds one to it.

    Args:
        ref: A scalar variable of int32 or int64.
        limit: The value at which it stops.
        name: Name of the operation.

    Raises:
        OutOfRangeError: When run: the value is `limit` already; it stays.
        TypeError: If the variable is of another type.
    """
    target = _ref_of(ref)
    dtype = target.dtype.base_dtype
    if dtype.name not in {"int32", "int64"}:
        raise TypeError(
            "Value passed to parameter 'ref' has DataType "
            f"{dtype.name} not in list of allowed values: int32, int64"
        )
    op = target.graph.create_op(
        "CountUpTo",
        [target],
        [dtype],
        output_shapes=[target.shape],
        name=name,
        attrs={"limit": int(limit)},
    )
    return op.outputs[0]


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Adds an operation that says whether a variable has a value: a scalar bool."""
    target = _ref_of(ref)
    op = target.graph.create_op(
        "IsVariableInitialized", [target], [bool_dtype], output_shapes=[TensorShape([])], name=name
    )
    return op.outputs[0]


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that are saved: those of `GraphKeys.GLOBAL_VARIABLES`."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of one process: those of `GraphKeys.LOCAL_VARIABLES`."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables to train: those of `GraphKeys.TRAINABLE_VARIABLES`."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Returns `global_variables()`; the old name."""
    return global_variables()


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Adds an operation that runs the initializers of some variables."""
    return group(*[variable.initializer for variable in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Adds an operation that initializes all global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Adds an operation that initializes all local variables, the epoch counters among them."""
    return variables_initializer(local_variables())


def initialize_all_variables() -> Operation:
    """The old name of `global_variables_initializer`."""
    return global_variables_initializer()


def initialize_local_variables() -> Operation:
    """The old name of `local_variables_initializer`."""
    return local_variables_initializer()


def initialize_variables(var_list: Sequence[Any], name: str = "init") -> Operation:
    """The old name of `variables_initializer`."""
    return variables_initializer(var_list, name)


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Adds an operation that names the variables without a value: a vector of strings.

    Args:
        var_list: The variables to look at; None for all global and local ones.
        name: Name of the operation.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    with name_scope(name):
        if not variables:
            return constant([], dtype=string)
        flags = [is_variable_initialized(variable) for variable in variables]
        names = [variable.op.name.encode() for variable in variables]
        op = get_default_graph().create_op(
            "ReportUninitialized",
            flags,
            [string],
            output_shapes=[TensorShape([None])],
            kernel=NumpyKernel(lambda *ready: _without(names, ready), [string]),
        )
    return op.outputs[0]


def _without(names: list[bytes], is_ready: Sequence[Any]) -> Any:
    return np.array(
        [name for name, ready in zip(names, is_ready, strict=True) if not ready], dtype=object
    )


def _ref_of(ref: Any) -> Tensor:
    """The reference tensor of a variable, or of what stands for one."""
    target = ref._as_graph_element() if isinstance(ref, Variable) else ref
    if not (isinstance(target, Tensor) and target.dtype._is_ref_dtype):
        raise TypeError(f"a variable is expected, got {ref!r}")
    return target


def _assign(ref: Tensor, value: Tensor, validate_shape: bool, name: str) -> Tensor:
    if validate_shape:
        ref.shape.assert_is_compatible_with(value.shape)
    op = ref.graph.create_op(
        "Assign",
        [ref, value],
        [ref.dtype],
        output_shapes=[value.shape],
        name=name,
        attrs={"validate_shape": validate_shape, "use_locking": True},
    )
    return op.outputs[0]


def _update(op_type: str, ref: Any, value: Any, name: str | None) -> Tensor:
    with name_scope(name, op_type) as scope:
        target = _ref_of(ref)
        tensor = convert_to_tensor(value, dtype=target.dtype.base_dtype, name="value")
        op = target.graph.create_op(
            op_type,
            [target, tensor],
            [target.dtype],
            output_shapes=[target.shape],
            name=scope,
        )
    return op.outputs[0]


def _read(ref: Tensor, name: str) -> Tensor:
    op = ref.graph.create_op(
        "Identity", [ref], [ref.dtype.base_dtype], output_shapes=[ref.shape], name=name
    )
    return op.outputs[0]


def _convert_variable(
    value: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{value.dtype.name}'"
        )
    return value._as_graph_element() if as_ref else value.value()


register_tensor_conversion_function(Variable, _convert_variable, 50)


def _forward_operator(method: str) -> None:
    """Lets a variable be used in an expression: the operator of its value is meant."""

    def operator(self: Variable, *args: Any) -> Any:
        return getattr(self.value(), method)(*args)

    operator.__name__ = method
    setattr(Variable, method, operator)


for _method in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor"),
    *("lt", "le", "gt", "ge", "invert", "neg", "abs", "getitem"),
):
    _forward_operator(f"__{_method}__")
