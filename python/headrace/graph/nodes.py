"""The nodes of a graph, and the tensors between them.

An `Operation` reads tensors and produces tensors. A `Tensor` is one output of an operation. Both
are only descriptions, and nothing is computed until a session runs them. The modules of
`headrace.ops` register the operators of `Tensor` (`a + b`, `a[1:]`) with
`Tensor.register_operator`.

Source: `tf.Operation` and `tf.Tensor` in TensorFlow 1.15.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from traceback import FrameSummary
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DType
from headrace.core.repr_prefix import displayed_name
from headrace.core.shapes import (
    Dimension,
    ShapeLike,
    TensorShape,
    as_shape,
    describe_conflict,
    unknown_shape,
)
from headrace.graph.evaluation import session_for_operation, session_for_tensor
from headrace.graph.op_def import OpDef, definition_of
from headrace.graph.origin import Origin, describe_origin
from headrace.graph.stacks import SessionLike

if TYPE_CHECKING:
    from headrace.protos import NodeDef

__all__ = [
    "Branch",
    "GraphElementLike",
    "HasOperation",
    "IndexLike",
    "IndexPart",
    "Loop",
    "Operation",
    "SupportsTensor",
    "Tensor",
    "TensorLike",
]


class Operation:
    """A node of a graph, created by `Graph.create_op`.

    Attributes:
        graph: The graph that the operation belongs to.
        name: The operation's name, including scopes. It is unique in the graph.
        type: The type of the operation, such as "Add".
        definition: The definition of the operation's type.
        inputs: The tensors that the operation reads.
        attrs: The attributes, which are fixed when the operation is created.
        kernel: Computes the operation with NumPy. It accepts one array per input and returns one
            array per output (a tuple if there are several). None if the engine has a kernel for the
            type.
        branch: The branch that the operation runs on; None if it always runs.
        loop: The loop that contains the operation, or None.
        repeats: The loop that the operation runs, or None if it does not run one.
        colocation: The names of the operations that this one is colocated with, each prefixed with
            "loc:@".
        owner: The queue or variable that the operation represents, or None.
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
        "definition",
        "graph",
        "inputs",
        "kernel",
        "loop",
        "name",
        "owner",
        "repeats",
        "type",
    )

    def __init__(
        self,
        graph: "_Graph",
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
        loop: "Loop | None",
        repeats: "Loop | None",
        op_id: int,
        origin: Origin | None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.type = op_type
        self.definition: OpDef = definition_of(op_type)
        self.inputs = tuple(inputs)
        self._control_inputs = tuple(control_inputs)
        self.attrs = attrs
        self.kernel = kernel
        self.branch = branch
        self.loop = loop
        self.repeats = repeats
        self.colocation: tuple[str, ...] = ()
        self.owner: Any = None
        self._device = ""
        self._id = op_id
        self._origin = origin
        shapes = [_UNKNOWN] * len(output_dtypes) if output_shapes is None else output_shapes
        self._outputs = tuple(
            graph.tensor_class(self, index, dtype, shape)
            for index, (dtype, shape) in enumerate(zip(output_dtypes, shapes, strict=True))
        )
        for tensor in self.inputs:
            tensor._consumers.append(self)

    @property
    def outputs(self) -> list["Tensor"]:
        """The tensors that this operation produces, as a new list."""
        return list(self._outputs)

    @property
    def control_inputs(self) -> list["Operation"]:
        """The operations that must run before this one, as a new list."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The requested device, which has no effect, because everything runs on the CPU."""
        return self._device

    def _set_device(self, device: str) -> None:
        """Replaces the device string."""
        self._device = device

    def colocation_groups(self) -> list[bytes]:
        """Returns the colocated operations (or only this one) as a new list of `loc:@NAME`."""
        return [group.encode() for group in self.colocation] or [f"loc:@{self.name}".encode()]

    @property
    def defined_at(self) -> str:
        """Where the user's program created this operation, as `file:line`. Empty if unknown."""
        frame = describe_origin(self._origin)
        return "" if frame is None else f"{frame.filename}:{frame.lineno}"

    @property
    def traceback(self) -> list[FrameSummary]:
        """The stack frame where the user's program created this operation. Empty if unknown."""
        frame = describe_origin(self._origin)
        return [] if frame is None else [frame]

    @property
    def node_def(self) -> "NodeDef":
        """A copy of this operation as a message. Changing it does not change the graph."""
        # Protocol buffers are slow to import, so import them only when needed.
        from headrace.graph.node_defs import make_node_def  # noqa: PLC0415

        return make_node_def(self)

    def values(self) -> tuple["Tensor", ...]:
        """Returns the operation's outputs as a tuple."""
        return self._outputs

    def get_attr(self, name: str) -> Any:
        """Returns the value of an attribute.

        As in TensorFlow, types are `DType`s, strings are bytes, shapes and constants are protocol
        buffer messages, and lists are new lists.

        Raises:
            ValueError: If the operation has no such attribute.
        """
        if name == "_class":
            return self.colocation_groups()
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        from headrace.graph.node_defs import public_value  # noqa: PLC0415

        return public_value(self.attrs[name])

    def run(
        self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None
    ) -> None:
        """Runs this operation, and blocks until it has finished.

        Args:
            feed_dict: Values for tensors; see `Session.run`.
            session: The session to use; None for the default session.

        Raises:
            ValueError: If there is no session, or the session has another graph.
        """
        session_for_operation(self.graph, session).run(self, feed_dict)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<{displayed_name('headrace', 'Operation')} '{self.name}' type={self.type}>"


class Tensor:
    """One output of an operation, with a dtype and a static shape. It has a value only during runs.

    Two tensors are equal only if they are the same object. Created by `Graph.create_op`.

    Attributes:
        op: The operation that produces this tensor.
        value_index: The index of this tensor among the operation's outputs.
        dtype: The type of the elements.
    """

    __slots__ = ("__weakref__", "_consumers", "_shape", "dtype", "op", "value_index")

    # Makes NumPy defer `ndarray + tensor` to `tensor.__radd__`.
    __array_priority__ = 100

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] = []

    @classmethod
    def register_operator(cls, method: str, function: Callable[..., Any]) -> None:
        """Adds a special method, such as `__add__`, to all tensors."""
        setattr(cls, method, function)

    @property
    def name(self) -> str:
        """The operation's name and the index of the output, such as `op:0`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> "_Graph":
        """The graph that this tensor belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device of the operation."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape, which is known without running anything."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape that you know into the static shape.

        Args:
            shape: Anything that `as_shape` accepts.

        Raises:
            ValueError: If `shape` contradicts the known shape.
        """
        requested_shape = as_shape(shape)
        if not self._shape.is_compatible_with(requested_shape):
            raise ValueError(describe_conflict(self._shape, requested_shape))
        self._shape = self._shape.merge_with(requested_shape)

    def consumers(self) -> list[Operation]:
        """Returns the operations that read this tensor."""
        return list(self._consumers)

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None
    ) -> Any:
        """Computes this tensor, and blocks until the value is available.

        Args:
            feed_dict: Values for tensors; see `Session.run`.
            session: The session to use; None for the default session.

        Returns:
            The value, as returned by `Session.run`.

        Raises:
            ValueError: If there is no session, or the session has another graph.
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

    def __array__(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array."
        )

    def __str__(self) -> str:
        shape = "" if self._shape.rank is None else f", shape={self._shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        kind = displayed_name("headrace", "Tensor")
        return f"<{kind} '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    if TYPE_CHECKING:

        def __add__(self, other: "TensorLike") -> "Tensor": ...
        def __radd__(self, other: "TensorLike") -> "Tensor": ...
        def __sub__(self, other: "TensorLike") -> "Tensor": ...
        def __rsub__(self, other: "TensorLike") -> "Tensor": ...
        def __mul__(self, other: "TensorLike") -> "Tensor": ...
        def __rmul__(self, other: "TensorLike") -> "Tensor": ...
        def __truediv__(self, other: "TensorLike") -> "Tensor": ...
        def __rtruediv__(self, other: "TensorLike") -> "Tensor": ...
        def __floordiv__(self, other: "TensorLike") -> "Tensor": ...
        def __rfloordiv__(self, other: "TensorLike") -> "Tensor": ...
        def __mod__(self, other: "TensorLike") -> "Tensor": ...
        def __rmod__(self, other: "TensorLike") -> "Tensor": ...
        def __pow__(self, other: "TensorLike") -> "Tensor": ...
        def __rpow__(self, other: "TensorLike") -> "Tensor": ...
        def __matmul__(self, other: "TensorLike") -> "Tensor": ...
        def __rmatmul__(self, other: "TensorLike") -> "Tensor": ...
        def __and__(self, other: "TensorLike") -> "Tensor": ...
        def __rand__(self, other: "TensorLike") -> "Tensor": ...
        def __or__(self, other: "TensorLike") -> "Tensor": ...
        def __ror__(self, other: "TensorLike") -> "Tensor": ...
        def __xor__(self, other: "TensorLike") -> "Tensor": ...
        def __rxor__(self, other: "TensorLike") -> "Tensor": ...
        def __lt__(self, other: "TensorLike") -> "Tensor": ...
        def __le__(self, other: "TensorLike") -> "Tensor": ...
        def __gt__(self, other: "TensorLike") -> "Tensor": ...
        def __ge__(self, other: "TensorLike") -> "Tensor": ...
        def __invert__(self) -> "Tensor": ...
        def __neg__(self) -> "Tensor": ...
        def __abs__(self) -> "Tensor": ...
        def __getitem__(self, key: "IndexLike") -> "Tensor": ...


class SupportsTensor(Protocol):
    """An object that represents a tensor, such as a variable."""

    def _as_graph_element(self) -> Tensor: ...


# Values that `convert_to_tensor` accepts.
TensorLike: TypeAlias = (
    Tensor | SupportsTensor | npt.ArrayLike | TensorShape | Dimension | Sequence["TensorLike"]
)


# Values that `Graph.as_graph_element` accepts: an operation, a tensor, an object that represents
# one, or a name.
GraphElementLike: TypeAlias = Operation | Tensor | SupportsTensor | str | bytes

# One part of the key in `tensor[key]`.
IndexPart: TypeAlias = (
    Tensor
    | SupportsTensor
    | Dimension
    | int
    | np.integer[Any]
    | npt.NDArray[Any]
    | slice
    | EllipsisType
    | None
)
# The key in `tensor[key]`.
IndexLike: TypeAlias = IndexPart | Sequence[IndexPart]


class HasOperation(Protocol):
    """An object that belongs to an operation, such as a tensor or a variable."""

    @property
    def op(self) -> Operation:
        """The operation."""


@dataclass(frozen=True)
class Branch:
    """One side of a condition. Its operations run only if the condition holds.

    Attributes:
        predicate: A bool scalar, the condition.
        is_taken_if: The value of the predicate for which this side runs.
        outer: The branch that contains the condition itself, or None.
    """

    predicate: Tensor
    is_taken_if: bool
    outer: "Branch | None"

    @property
    def path(self) -> "list[Branch]":
        """The branches that must be taken for this branch to be taken, ending with this branch."""
        return [*(self.outer.path if self.outer else ()), self]

    def joined_to(self, other: "Branch | None") -> "Branch":
        """Returns the branch that is taken if both this branch and another one are taken."""
        if other is None:
            return self
        taken = {(branch.predicate, branch.is_taken_if) for branch in other.path}
        for branch in self.path:
            if (branch.predicate, branch.is_taken_if) not in taken:
                other = Branch(branch.predicate, branch.is_taken_if, other)
        return other


@dataclass(eq=False)
class Loop:
    """A part of the graph that one operation runs repeatedly.

    Attributes:
        name: The name of the loop's scope, for errors.
        outer: The loop that contains this one, or None.
        carried: Tensors for the values that each iteration passes to the next.
        rows: Tensors for one row of each sequence that the loop iterates over.
        condition: A bool scalar that is true if there is another iteration. None for a loop over
            rows.
        results: The next values of `carried`, followed by the values to collect.
        captured: The tensors from outside the loop that are read inside it, without duplicates.
        is_each: Whether this is a loop of `headrace.ops.each`, the only kind that native functions
            allow.
    """

    name: str
    outer: "Loop | None"
    carried: list[Tensor] = field(default_factory=list)
    rows: list[Tensor] = field(default_factory=list)
    condition: Tensor | None = None
    results: list[Tensor] = field(default_factory=list)
    captured: list[Tensor] = field(default_factory=list)
    is_each: bool = False

    @property
    def needed(self) -> list[Tensor]:
        """The tensors that each iteration computes."""
        return [*([] if self.condition is None else [self.condition]), *self.results]

    def encloses(self, other: "Loop | None") -> bool:
        """Returns whether a loop is this loop or is nested inside it."""
        while other is not None and other is not self:
            other = other.outer
        return other is self


class _Graph(Protocol):
    """The part of a graph that nodes need. `Graph` itself is defined in a higher layer."""

    seed: int | None
    tensor_class: "type[Tensor]"
    is_native: bool

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        output_dtypes: Sequence[DType],
        *,
        output_shapes: Sequence[TensorShape] | None = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        kernel: Callable[..., Any] | None = None,
        repeats: "Loop | None" = None,
    ) -> Operation: ...
    def get_operations(self) -> list[Operation]: ...
    def get_operation_by_name(self, name: str) -> Operation: ...
    def get_tensor_by_name(self, name: str) -> Tensor: ...
    def as_graph_element(
        self, obj: "GraphElementLike", allow_tensor: bool = True, allow_operation: bool = True
    ) -> "Operation | Tensor": ...
    def as_default(self) -> AbstractContextManager[Any]: ...
    def finalize(self) -> None: ...
    @property
    def finalized(self) -> bool: ...
    @property
    def version(self) -> int: ...
    def prevent_feeding(self, tensor: Tensor) -> None: ...
    def prevent_fetching(self, op: Operation) -> None: ...
    def unique_name(self, name: str, mark_as_used: bool = True) -> str: ...
    def name_scope(self, name: str | None) -> AbstractContextManager[str]: ...
    def control_dependencies(
        self, control_inputs: "Iterable[GraphElementLike] | None"
    ) -> AbstractContextManager[None]: ...
    def on_branch(self, predicate: Tensor, is_taken_if: bool) -> AbstractContextManager[None]: ...
    @property
    def current_loop(self) -> "Loop | None": ...
    def in_loop(self, loop: "Loop") -> AbstractContextManager[None]: ...
    def add_to_collection(self, name: Hashable, value: object) -> None: ...
    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]: ...


_UNKNOWN = unknown_shape()
