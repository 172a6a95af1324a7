"""The graph: adding operations, within the scopes of `with` blocks.

Source: `tf.Graph` of TensorFlow 1.15.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph.attrs import check_attrs
from headrace.graph.control import ControlScope, ControlStack, as_control_input
from headrace.graph.devices import DeviceLike, DeviceScope, as_device_scope, device_of
from headrace.graph.elements import GraphElements
from headrace.graph.naming import NameTable, as_text, check_node_name, check_scope_name
from headrace.graph.nodes import (
    Branch,
    GraphElementLike,
    HasOperation,
    Loop,
    Operation,
    Tensor,
)
from headrace.graph.op_def import Role, definition_of
from headrace.graph.origin import find_origin
from headrace.graph.stacks import default_graphs

if TYPE_CHECKING:
    from headrace.protos import GraphDef

__all__ = ["Graph"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _ThreadState(threading.local):
    """The settings of one thread's `with` blocks for one graph."""

    def __init__(self) -> None:
        self.name_scope = ""
        self.control = ControlStack()
        self.devices: list[DeviceScope] = []
        self.colocation: list[Operation] = []
        self.container = ""


def _branch_for(op_type: str, inputs: Sequence[Tensor], control: ControlStack) -> Branch | None:
    """Returns the branch of a new operation: that of the thread, and those of its inputs.

    A merge depends only on its predicate, which comes last. The inputs of a loop from outside put
    the whole loop on a branch.
    """
    branch = control.branch
    for tensor in inputs[-1:] if definition_of(op_type).role is Role.MERGE else inputs:
        if tensor.op.loop is not control.loop:
            continue
        if tensor.op.branch is not None and tensor.op.branch is not branch:
            branch = tensor.op.branch.joined_to(branch)
    return branch


class Graph(GraphElements):
    """A set of operations and the tensors that flow between them.

    Operations may be added from several threads at once. Name scopes and control dependencies
    belong to the thread that entered them.

    Attributes:
        tensor_class: The class of its tensors.
        is_native: Whether it is the graph of a native function of a pipeline, where operations
            refuse values that TensorFlow 1 rounds silently, and accept images of unknown rank.
        seed: The graph's seed, or None. See `headrace.graph.get_seed`.
    """

    tensor_class: type[Tensor] = Tensor
    is_native: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.seed: int | None = None
        # Guarded by `_lock`.
        self._names = NameTable()
        self._thread = _ThreadState()

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
        repeats: Loop | None = None,
    ) -> Operation:
        """Adds an operation.

        Args:
            op_type: The type of computation.
            inputs: The tensors it reads, of this graph.
            output_dtypes: One for each output.
            output_shapes: One for each output; None if nothing is known.
            name: Made unique within the current name scope; a name that ends in "/" is a scope
                already made unique, and is used unchanged. None for `op_type`.
            attrs: The fixed attributes; kept, not copied.
            kernel: Computes it over NumPy arrays; None if the native engine knows `op_type`.
            repeats: The loop that it runs; None for other operations.

        Returns:
            The operation.

        Raises:
            RuntimeError: If the graph is finalized.
            TypeError: If an input is not a tensor.
            ValueError: If an input belongs to another graph or is inside a loop that this operation
                is not in, the name is invalid, or an integer among the attributes has more than 64
                bits.
        """
        for tensor in inputs:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"input needs to be a Tensor: {tensor}")
            if tensor.op.graph is not self:
                raise ValueError(f"{tensor} is not from this graph.")
            if tensor.op.loop is not None:
                self._check_in_loop(tensor.op, name or op_type)
        thread = self._thread
        if attrs:
            check_attrs(name or op_type, attrs)
            if thread.container and attrs.get("container") == "":
                attrs = {**attrs, "container": thread.container}
        origin = find_origin()
        control = thread.control
        control_inputs: list[Operation] = []
        if control.scopes:
            control_inputs = control.control_inputs_for({tensor.op for tensor in inputs})
        with self._lock:
            self._check_not_finalized()
            name = as_text(name) or op_type
            name = name[:-1] if name.endswith("/") else self.unique_name(name)
            check_node_name(name)
            if name in self._operations:
                raise ValueError(f"Duplicate node name in graph: '{name}'")
            op = Operation(
                self,
                name,
                op_type,
                inputs=inputs,
                control_inputs=control_inputs,
                output_dtypes=output_dtypes,
                output_shapes=output_shapes,
                attrs={} if attrs is None else attrs,
                kernel=kernel,
                branch=_branch_for(op_type, inputs, control),
                loop=control.loop,
                repeats=repeats,
                op_id=len(self._operations) + 1,
                origin=origin,
            )
            self._operations[name] = op
        _set_device(op, thread)
        if control.scopes:
            control.add_member(op)
        if control.branch is not None or control.loop is not None:
            self.prevent_fetching(op)
        if control.loop is not None:
            for tensor in op.outputs:
                self.prevent_feeding(tensor)
        return op

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> "GraphDef":
        """Returns a copy of all operations as a message: changing it does not change the graph.

        Args:
            from_version: Ignored, as in TensorFlow.
            add_shapes: Whether each node has the static shapes of its outputs, as the attribute
                "_output_shapes".
        """
        # Protocol buffers take longer to load than all the rest.
        from headrace.graph.node_defs import make_graph_def  # noqa: PLC0415

        return make_graph_def(self.get_operations(), add_shapes)

    # Scopes

    def as_default(self) -> AbstractContextManager["Graph"]:
        """Makes this the default graph of the current thread inside a `with` block."""
        return default_graphs.pushed(self)

    def make(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Calls a function that makes operations without inputs: a constant, a queue, a reader.

        Operations with inputs are made in the graph of their inputs and need no such call.

        Args:
            function: Called with the other arguments, with this graph as the default graph.
            *args: Its positional arguments.
            **kwargs: Its keyword arguments.

        Returns:
            The function's result.
        """
        with self.as_default():
            return function(*args, **kwargs)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name within the current scope, with `_1`, `_2`, … if it is taken.

        Args:
            name: The name to begin with.
            mark_as_used: Whether the result counts as taken from now on.
        """
        scope, name = self._thread.name_scope, as_text(name)
        with self._lock:
            return self._names.make_unique(f"{scope}/{name}" if scope else name, mark_as_used)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Puts a prefix before the names of operations made inside a `with` block.

        Args:
            name: Made unique within the current scope. A name that ends in "/" is used unchanged,
                so that a scope can be entered again. None or "" leaves all scopes.

        Yields:
            The scope's full name with "/" at its end; "" for the root.

        Raises:
            ValueError: If the name is not valid.
        """
        state = self._thread
        outer = state.name_scope
        name = as_text(name)
        if not name:
            inner = ""
        else:
            check_scope_name(name, is_root=not outer)
            inner = name[:-1] if name.endswith("/") else self.unique_name(name)
        state.name_scope = inner
        try:
            yield f"{inner}/" if inner else ""
        finally:
            state.name_scope = outer

    def get_name_scope(self) -> str:
        """Returns the current scope's full name, without "/" at its end."""
        return self._thread.name_scope

    def control_dependencies(
        self, control_inputs: Iterable[GraphElementLike] | None
    ) -> ControlScope:
        """Makes operations of a `with` block run after others.

        Args:
            control_inputs: Operations, or tensors, which mean their operations. None ignores the
                control inputs of outer blocks, and their branch.

        Returns:
            A context manager.

        Raises:
            TypeError: If one is neither an operation nor a tensor.
            ValueError: If one belongs to another graph.
        """
        if control_inputs is None:
            return self._thread.control.make_scope(None)
        elements = [self.as_graph_element(as_control_input(item)) for item in control_inputs]
        ops = [item.op if isinstance(item, Tensor) else item for item in elements]
        return self._thread.control.make_scope(ops)

    @contextmanager
    def on_branch(self, predicate: Tensor, is_taken_if: bool) -> Iterator[None]:
        """Makes operations of a `with` block run only if a condition holds.

        They cannot be fetched. A "Merge" operation returns what one of two branches computed.

        Args:
            predicate: A bool scalar.
            is_taken_if: The value with which they run.
        """
        control = self._thread.control
        outer = control.branch
        control.branch = Branch(predicate, is_taken_if, outer)
        try:
            yield
        finally:
            control.branch = outer

    @property
    def current_loop(self) -> Loop | None:
        """The loop that operations are made in by this thread; None if in none."""
        return self._thread.control.loop

    @contextmanager
    def in_loop(self, loop: Loop) -> Iterator[None]:
        """Makes operations of a `with` block run in each iteration of a loop.

        They can be neither fed nor fetched, nor read outside of it. They wait for nothing that
        outer blocks wait for: the loop as a whole does.
        """
        control = self._thread.control
        outer = control.scopes, control.branch, control.loop
        control.scopes, control.branch, control.loop = [], None, loop
        try:
            yield
        finally:
            control.scopes, control.branch, control.loop = outer

    @contextmanager
    def device(self, device_name_or_function: DeviceLike) -> Iterator[None]:
        """Sets the device of operations made inside a `with` block; it has no effect on runs.

        Args:
            device_name_or_function: A device string, which is merged with the outer blocks'; a
                function that takes an operation and returns its device string; or None to ignore
                outer blocks.

        Raises:
            TypeError: If it is something else.
            ValueError: If it is not a device string.
        """
        scope = as_device_scope(device_name_or_function)
        state = self._thread
        outer = state.devices
        state.devices = [*outer, scope]
        try:
            yield
        finally:
            state.devices = outer

    @contextmanager
    def colocate_with(
        self, op: HasOperation | Operation | None, ignore_existing: bool = False
    ) -> Iterator[None]:
        """Gives operations made inside a `with` block the device of another operation.

        Args:
            op: The operation, or a tensor or variable of it. None for none.
            ignore_existing: Whether to forget outer blocks.

        Raises:
            ValueError: If `op` is None without `ignore_existing`.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        state = self._thread
        outer, outer_devices = state.colocation, state.devices
        beside = [] if op is None else [_operation_of(op)]
        state.colocation = beside if ignore_existing else [*outer, *beside]
        state.devices = []
        try:
            yield
        finally:
            state.colocation, state.devices = outer, outer_devices

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Sets the container in which queues, readers and variables of a `with` block share names.

        Args:
            container_name: Name of the container.
        """
        state = self._thread
        outer, state.container = state.container, container_name
        try:
            yield container_name
        finally:
            state.container = outer

    def switch_to_thread_local(self) -> None:
        """Does nothing: name scopes and control dependencies belong to their thread in any case."""

    def _check_in_loop(self, op: Operation, name: str) -> None:
        """Checks that a new operation may read an operation inside a loop."""
        loop = self._thread.control.loop
        if op.loop is None or op.loop.encloses(loop):
            return
        reader = name[:-1] if name.endswith("/") else self.unique_name(name, mark_as_used=False)
        reason = (
            f"because '{op.name}' is in a while loop."
            if loop is None
            else "because they are in different while loops."
        )
        raise ValueError(
            f"Cannot use '{op.name}' as input to '{reader}' {reason} See info log for more details."
        )


def _operation_of(value: HasOperation | Operation) -> Operation:
    return value if isinstance(value, Operation) else value.op


def _set_device(op: Operation, thread: _ThreadState) -> None:
    """Sets the device and the colocation of a new operation."""
    if thread.devices:
        op._device = device_of(op, thread.devices)
    beside = thread.colocation
    if op.inputs and op.inputs[0].dtype._is_ref_dtype and _stands_beside(op):
        beside = [op.inputs[0].op, *beside]
    if beside:
        groups = {group.decode() for other in beside for group in other.colocation_groups()}
        op.colocation = tuple(sorted(groups))
        op._device = next((other.device for other in beside if other.device), op._device)


def _stands_beside(op: Operation) -> bool:
    """Returns whether an operation is colocated with its first input, which is a reference.

    An operation on a variable or a barrier is; one that reads the result of an assignment is not.
    """
    return op.definition.takes_variable or op.inputs[0].op.definition.role is not Role.COMPUTED
