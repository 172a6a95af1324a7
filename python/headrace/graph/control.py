"""Control dependencies: operations that run before any operation created inside a `with` block.

Each scope also stores the branch and the loop of its operations.

Source: `tf.Graph.control_dependencies` in TensorFlow 1.15.
"""

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any

from headrace.graph.nodes import Branch, Loop, Operation

__all__ = ["ControlScope", "ControlStack", "as_control_input"]


class ControlScope:
    """One `with graph.control_dependencies(...)` block, which can be entered only once at a time.

    Args:
        stack: The stack of the thread that enters the block.
        ops: The operations to wait for. If None, the block ignores all outer blocks, including
            their branch and their loop.
    """

    def __init__(self, stack: "ControlStack", ops: Sequence[Operation] | None) -> None:
        self._stack = stack
        self._is_clearing = ops is None
        self._outer: list[ControlScope] = []
        self._outer_branch: Branch | None = None
        self._outer_loop: Loop | None = None
        self._members: set[Operation] = set()
        self.control_inputs: list[Operation] = list(ops or ())

    def add_member(self, op: Operation) -> None:
        """Records that an operation was created inside the block."""
        self._members.add(op)

    def has_member(self, op: Operation) -> bool:
        """Returns whether an operation was created inside the block and so waits for `ops`."""
        return op in self._members

    def __enter__(self) -> None:
        if self._is_clearing:
            self._outer = self._stack.scopes
            self._stack.scopes = []
            self._outer_branch, self._stack.branch = self._stack.branch, None
            self._outer_loop, self._stack.loop = self._stack.loop, None
        self._stack.scopes.append(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.scopes.remove(self)
        if self._is_clearing:
            self._stack.scopes = self._outer
            self._stack.branch = self._outer_branch
            self._stack.loop = self._outer_loop


class ControlStack:
    """One thread's control scopes (innermost last), with its branch and its loop."""

    def __init__(self) -> None:
        self.scopes: list[ControlScope] = []
        self.branch: Branch | None = None
        self.loop: Loop | None = None

    def make_scope(self, ops: Sequence[Operation] | None) -> ControlScope:
        """Returns a scope for the operations that no outer scope already waits for."""
        if ops is None:
            return ControlScope(self, None)
        waited_for = {op for scope in self.scopes for op in scope.control_inputs}
        return ControlScope(self, [op for op in dict.fromkeys(ops) if op not in waited_for])

    def control_inputs_for(self, input_ops: Collection[Operation]) -> list[Operation]:
        """Returns the operations that a new operation must wait for.

        If one of the inputs was created in a scope, the scope adds nothing, because the input
        already waits.

        Args:
            input_ops: The operations whose outputs the new operation reads.
        """
        operations: list[Operation] = []
        for scope in self.scopes:
            if not any(scope.has_member(op) for op in input_ops):
                operations += [op for op in scope.control_inputs if op not in input_ops]
        return operations

    def add_member(self, op: Operation) -> None:
        """Records in every scope that an operation was created."""
        for scope in self.scopes:
            scope.add_member(op)


def as_control_input(item: Any) -> Any:
    """Returns the operation of an `IndexedSlices`, and any other object unchanged."""
    convert = getattr(item, "_as_control_input", None)
    return convert() if callable(convert) else item
