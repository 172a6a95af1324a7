"""The graph, whose `with` blocks set the scopes in which operations are added.

Source: `tf.Graph` in TensorFlow 1.15.
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
    """One thread's settings for one graph, made by `with` blocks."""

    def __init__(self) -> None:
        self.name_scope = ""
        self.control = ControlStack()
        self.devices: list[DeviceScope] = []
        self.colocation: list[Operation] = []
        self.container = ""


def _branch_for(op_type: str, inputs: Sequence[Tensor], control: ControlStack) -> Branch | None:
    """Determines a new operation's branch from the thread's branch and the operation's inputs.

    A merge depends only on its predicate, which is the last input. If a loop's inputs from outside
    are on a branch, so is the whole loop.
    """
    branch = control.branch
    for tensor in inputs[-1:] if definition_of(op_type).role is Role.MERGE else inputs:
        if tensor.op.loop is not control.loop:
            continue
        if tensor.op.branch is not None and tensor.op.branch is not branch:
            branch = tensor.op.branch.joined_to(branch)
    return branch


class Graph(GraphElements):
    """A set of operations, and the tensors that flow between them.

    Several threads may add operations at the same time. Name scopes and control dependencies belong
    to the thread that entered them.

    Attributes:
        tensor_class: The class of the graph's tensors.
        is_native: Whether this is the graph of a pipeline's native function. Operations in such a
            graph reject values that TensorFlow 1 rounds silently, and accept images of unknown
            rank.
        seed: The graph's seed, or None; see `headrace.graph.get_seed`.
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
            op_type: The type of the operation.
            inputs: The tensors that the operation reads, which must belong to this graph.
            output_dtypes: One type per output.
            output_shapes: One shape per output; None if nothing is known.
            name: The name, which is made unique within the current name scope. A name that ends in
                "/" is the name of an already unique scope, and is used unchanged. Defaults to
                `op_type`.
            attrs: The attributes. The dict is stored without being copied.
            kernel: Computes the operation with NumPy; None if the engine has a kernel for
                `op_type`.
            repeats: The loop that the operation runs, or None if it does not run one.

        Returns:
            The operation.

        Raises:
            RuntimeError: If the graph is finalized.
            TypeError: If an input is not a tensor.
            ValueError: If an input belongs to a different graph or is inside a loop that this
                operation is not in, the name is invalid, or an integer attribute has more than 64
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
        """Returns a copy of all operations as a message. Changing it does not change the graph.

        Args:
            from_version: Ignored, as in TensorFlow.
            add_shapes: Whether to add the static shapes of each node's outputs as the attribute
                "_output_shapes".
        """
        # Protocol buffers are slow to import, so import them only when needed.
        from headrace.graph.node_defs import make_graph_def  # noqa: PLC0415

        return make_graph_def(self.get_operations(), add_shapes)

    # Scopes

    def as_default(self) -> AbstractContextManager["Graph"]:
        """Makes this graph the current thread's default inside a `with` block."""
        return default_graphs.pushed(self)

    def make(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Calls a function that creates operations without inputs, such as constants or queues.

        You don't need this for operations with inputs, because they are created in the graph of
        their inputs.

        Args:
            function: The function to call with the remaining arguments, while this graph is the
                default graph.
            *args: Positional arguments for the function.
            **kwargs: Keyword arguments for the function.

        Returns:
            The function's result.
        """
        with self.as_default():
            return function(*args, **kwargs)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name within the current scope, with `_1`, `_2` and so on if it is taken.

        Args:
            name: The requested name.
            mark_as_used: Whether to mark the result as taken.
        """
        scope, name = self._thread.name_scope, as_text(name)
        with self._lock:
            return self._names.make_unique(f"{scope}/{name}" if scope else name, mark_as_used)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Adds a prefix to the names of operations that are created inside a `with` block.

        Args:
            name: The name, which is made unique within the current scope. A name that ends in "/"
                is used unchanged, so that you can enter a scope again. None or "" leaves all
                scopes.

        Yields:
            The scope's full name, ending with "/"; "" for the root.

        Raises:
            ValueError: If the name is invalid.
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
        """Returns the current scope's full name, without "/" at the end."""
        return self._thread.name_scope

    def control_dependencies(
        self, control_inputs: Iterable[GraphElementLike] | None
    ) -> ControlScope:
        """Makes operations in a `with` block run after other operations.

        Args:
            control_inputs: The operations to run first. A tensor is replaced with its operation. If
                None, the control inputs and the branch of outer blocks are ignored.

        Returns:
            A context manager.

        Raises:
            TypeError: If an item is neither an operation nor a tensor.
            ValueError: If an item belongs to a different graph.
        """
        if control_inputs is None:
            return self._thread.control.make_scope(None)
        elements = [self.as_graph_element(as_control_input(item)) for item in control_inputs]
        ops = [item.op if isinstance(item, Tensor) else item for item in elements]
        return self._thread.control.make_scope(ops)

    @contextmanager
    def on_branch(self, predicate: Tensor, is_taken_if: bool) -> Iterator[None]:
        """Makes operations in a `with` block run only if a condition holds.

        These operations cannot be fetched. A "Merge" operation returns the result of the branch
        that was taken.

        Args:
            predicate: A bool scalar.
            is_taken_if: The value of the predicate for which the operations run.
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
        """The loop in which this thread creates operations, or None if there is no loop."""
        return self._thread.control.loop

    @contextmanager
    def in_loop(self, loop: Loop) -> Iterator[None]:
        """Makes operations in a `with` block run in each iteration of a loop.

        These operations cannot be fed, fetched, or read outside the loop. They do not wait for the
        control inputs of outer blocks, because the loop as a whole does.
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
        """Sets the device of operations that are created in a `with` block. Runs ignore the device.

        Args:
            device_name_or_function: A device string, which is merged with the device strings of
                outer blocks; a function that accepts an operation and returns its device string; or
                None to ignore outer blocks.

        Raises:
            TypeError: If the argument has any other type.
            ValueError: If it is not a valid device string.
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
        """Places operations that are created in a `with` block on an operation's device.

        Args:
            op: The operation, or a tensor or variable that belongs to it. Pass None with
                `ignore_existing` to leave all outer blocks.
            ignore_existing: Whether to ignore outer `colocate_with` blocks.

        Raises:
            ValueError: If `op` is None and `ignore_existing` is not set.
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
        """Sets the container for queues, readers and variables that are created in a `with` block.

        Args:
            container_name: The name of the container.
        """
        state = self._thread
        outer, state.container = state.container, container_name
        try:
            yield container_name
        finally:
            state.container = outer

    def switch_to_thread_local(self) -> None:
        """Does nothing, because scopes and control dependencies always belong to their thread."""

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

    This is the case for an operation on a variable or a barrier, but not for one that reads the
    result of an assignment.
    """
    return op.definition.takes_variable or op.inputs[0].op.definition.role is not Role.COMPUTED
