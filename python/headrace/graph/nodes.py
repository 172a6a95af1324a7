"""The nodes of a graph and what flows between them.

An `Operation` takes tensors and gives tensors; a `Tensor` is one output of an operation. Both only
describe: nothing is computed until a session runs them. The operators of `Tensor` (`a + b`,
`a[1:]`) are put there by the modules of `headrace.ops` with `Tensor.register_operator`.

Source: `tf.Operation` and `tf.Tensor` of TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping, Sequence
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.dtypes import DType
from headrace.graph.evaluation import session_for_operation, session_for_tensor
from headrace.graph.origin import Origin, describe_origin
from headrace.shapes import TensorShape, as_shape, describe_conflict, unknown_shape

if TYPE_CHECKING:
    from headrace.graph.branches import Branch
    from headrace.graph.graph import Graph
    from headrace.protos import NodeDef

__all__ = ["Operation", "Tensor"]


class Operation:
    """A node of a graph. Made by `Graph.create_op`.

    Attributes:
        graph: The graph it belongs to.
        name: Unique in the graph, including scopes.
        type: Which computation it stands for, such as "Add".
        inputs: The tensors it reads.
        attrs: What is fixed when the operation is made.
        kernel: Computes it over NumPy arrays: takes one array an input and returns one array an
            output (a tuple if there are several). None if the native engine knows the type.
        branch: It runs only if this branch is taken; None if it is on none.
        colocation: Names of operations that it was to be put beside, each after "loc:@".
    """

    __slots__ = (
        "__weakref__",
        "_control_inputs",
        "_device",
        "_id",
        "_origin",
        "_outputs",
        "attrs",
        "branch",
        "colocation",
        "graph",
        "inputs",
        "kernel",
        "name",
        "type",
    )

    def __init__(
        self,
        graph: "Graph",
        name: str,
        op_type: str,
        *,
        inputs: Sequence["Tensor"],
        control_inputs: Sequence["Operation"],
        output_dtypes: Sequence[DType],
        output_shapes: Sequence[TensorShape] | None,
        attrs: dict[str, Any],
        kernel: Callable[..., Any] | None,
        branch: "Branch | None",
        op_id: int,
        origin: Origin | None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.type = op_type
        self.inputs = tuple(inputs)
        self._control_inputs = tuple(control_inputs)
        self.attrs = attrs
        self.kernel = kernel
        self.branch = branch
        self.colocation: tuple[str, ...] = ()
        self._device = ""
        self._id = op_id
        self._origin = origin
        shapes = [_UNKNOWN] * len(output_dtypes) if output_shapes is None else output_shapes
        self._outputs = tuple(
            Tensor(self, index, dtype, shape)
            for index, (dtype, shape) in enumerate(zip(output_dtypes, shapes, strict=True))
        )
        for tensor in self.inputs:
            tensor._consumers.append(self)

    @property
    def outputs(self) -> list["Tensor"]:
        """The tensors it produces: a new list, so that changing it leaves the graph alone."""
        return list(self._outputs)

    @property
    def control_inputs(self) -> list["Operation"]:
        """Operations that must have run before it: a new list."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The device that was asked for, which is ignored: everything runs on the processor."""
        return self._device

    def _set_device(self, device: str) -> None:
        """Replaces the device string."""
        self._device = device

    def colocation_groups(self) -> list[bytes]:
        """Returns what it was to be put beside, or itself, as `loc:@NAME`: a new list."""
        return [group.encode() for group in self.colocation] or [f"loc:@{self.name}".encode()]

    @property
    def defined_at(self) -> str:
        """`file:line` of the user's program where it was made; empty if unknown."""
        frame = describe_origin(self._origin)
        return "" if frame is None else f"{frame.filename}:{frame.lineno}"

    @property
    def traceback(self) -> list[FrameSummary]:
        """The user's stack frame that made it, as a list of at most one entry."""
        frame = describe_origin(self._origin)
        return [] if frame is None else [frame]

    @property
    def node_def(self) -> "NodeDef":
        """This operation as a message, made anew: changing it changes nothing."""
        # Protocol buffers take longer to load than all the rest.
        from headrace.graph.node_defs import make_node_def  # noqa: PLC0415

        return make_node_def(self)

    def values(self) -> tuple["Tensor", ...]:
        """Returns its outputs as a tuple."""
        return self._outputs

    def get_attr(self, name: str) -> Any:
        """Returns the value of an attribute.

        Types are `DType`s, texts are bytes, shapes and constants are protocol buffer messages, and
        lists are new lists, as in TensorFlow.

        Raises:
            ValueError: If it has none of that name.
        """
        if name == "_class":
            return self.colocation_groups()
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        from headrace.graph.node_defs import public_value  # noqa: PLC0415

        return public_value(self.attrs[name])

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Runs this operation. Blocks until it is done.

        Args:
            feed_dict: Values for tensors, as in `Session.run`.
            session: The session to use; None for the default session.

        Raises:
            ValueError: If there is no session or the session has another graph.
        """
        session_for_operation(self.graph, session).run(self, feed_dict)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class Tensor:
    """One output of an operation: a promise of an array, with a dtype and a static shape.

    Two tensors are equal only if they are the same object. Made by `Graph.create_op`.

    Attributes:
        op: The operation that produces it.
        value_index: Which output of the operation it is.
        dtype: Type of the elements.
    """

    __slots__ = ("__weakref__", "_consumers", "_shape", "dtype", "op", "value_index")

    # Lets `ndarray + tensor` become `tensor.__radd__(ndarray)`.
    __array_priority__ = 100

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] = []

    @classmethod
    def register_operator(cls, method: str, function: Callable[..., Any]) -> None:
        """Gives all tensors a special method, such as `__add__`."""
        setattr(cls, method, function)

    @property
    def name(self) -> str:
        """`op:0`: the operation's name and the number of the output."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> "Graph":
        """The graph it belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device that was asked for its operation."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape: what is known of the shape without running the graph."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows to the static shape.

        Args:
            shape: Anything that `as_shape` accepts.

        Raises:
            ValueError: If it contradicts what is known.
        """
        wanted = as_shape(shape)
        if not self._shape.is_compatible_with(wanted):
            raise ValueError(describe_conflict(self._shape, wanted))
        self._shape = self._shape.merge_with(wanted)

    def consumers(self) -> list[Operation]:
        """Returns the operations that read this tensor."""
        return list(self._consumers)

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Computes this tensor. Blocks until it is done.

        Args:
            feed_dict: Values for tensors, as in `Session.run`.
            session: The session to use; None for the default session.

        Returns:
            The value, as from `Session.run`.

        Raises:
            ValueError: If there is no session or the session has another graph.
        """
        return session_for_tensor(self.graph, session).run(self, feed_dict)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "Tensor objects are only iterable when eager execution is enabled. To iterate over "
            "this tensor use tf.map_fn."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and use TensorFlow ops such as "
            "tf.cond to execute subgraphs conditioned on the value of a tensor."
        )

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array."
        )

    def __str__(self) -> str:
        shape = "" if self._shape.rank is None else f", shape={self._shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> "Tensor": ...
        def __radd__(self, other: Any) -> "Tensor": ...
        def __sub__(self, other: Any) -> "Tensor": ...
        def __rsub__(self, other: Any) -> "Tensor": ...
        def __mul__(self, other: Any) -> "Tensor": ...
        def __rmul__(self, other: Any) -> "Tensor": ...
        def __truediv__(self, other: Any) -> "Tensor": ...
        def __rtruediv__(self, other: Any) -> "Tensor": ...
        def __floordiv__(self, other: Any) -> "Tensor": ...
        def __rfloordiv__(self, other: Any) -> "Tensor": ...
        def __mod__(self, other: Any) -> "Tensor": ...
        def __rmod__(self, other: Any) -> "Tensor": ...
        def __pow__(self, other: Any) -> "Tensor": ...
        def __rpow__(self, other: Any) -> "Tensor": ...
        def __matmul__(self, other: Any) -> "Tensor": ...
        def __rmatmul__(self, other: Any) -> "Tensor": ...
        def __and__(self, other: Any) -> "Tensor": ...
        def __rand__(self, other: Any) -> "Tensor": ...
        def __or__(self, other: Any) -> "Tensor": ...
        def __ror__(self, other: Any) -> "Tensor": ...
        def __xor__(self, other: Any) -> "Tensor": ...
        def __rxor__(self, other: Any) -> "Tensor": ...
        def __lt__(self, other: Any) -> "Tensor": ...
        def __le__(self, other: Any) -> "Tensor": ...
        def __gt__(self, other: Any) -> "Tensor": ...
        def __ge__(self, other: Any) -> "Tensor": ...
        def __invert__(self) -> "Tensor": ...
        def __neg__(self) -> "Tensor": ...
        def __abs__(self) -> "Tensor": ...
        def __getitem__(self, key: Any) -> "Tensor": ...


_UNKNOWN = unknown_shape()
