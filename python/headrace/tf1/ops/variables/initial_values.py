"""Initial values that depend on other variables.

`tf.Variable(other * 2)` is initialized together with `other`, in any order. The initial value is
therefore a copy of the computation. If the computation reads another variable, the copy reads that
variable's value, or its initial value if it has no value yet.

Source: the treatment of initial values by `tf.Variable` in TensorFlow 1.15.
"""

from contextlib import ExitStack
from typing import Any

from headrace.graph import GraphKeys, Operation, Role, Tensor

__all__ = ["guard_initial_value"]


def guard_initial_value(value: Tensor, suffix: str) -> Tensor:
    """Returns a tensor of the same value that can be computed before other variables have values.

    Args:
        value: An initial value.
        suffix: The suffix for the names of the copied operations.

    Returns:
        The tensor, which is `value` itself if it needs no other variable.
    """
    guarded: dict[Tensor, Tensor] = {}
    for op in _needed(value.op):
        if op.definition.role is Role.VARIABLE:
            variable = _find_variable(op)
            if variable is not None:
                guarded[op.outputs[0]] = variable.initialized_value()
        elif any(tensor in guarded for tensor in (*op.inputs, *_predicates(op))):
            copy = _copy(op, guarded, f"{op.name}_{suffix}")
            guarded.update(zip(op.outputs, copy.outputs, strict=True))
    return guarded.get(value, value)


def _copy(op: Operation, guarded: dict[Tensor, Tensor], name: str) -> Operation:
    with ExitStack() as scopes:
        scopes.enter_context(op.graph.name_scope(None))
        for branch in op.branch.path if op.branch else ():
            predicate = guarded.get(branch.predicate, branch.predicate)
            scopes.enter_context(op.graph.on_branch(predicate, branch.is_taken_if))
        return op.graph.create_op(
            op.type,
            [guarded.get(tensor, tensor) for tensor in op.inputs],
            [tensor.dtype for tensor in op.outputs],
            output_shapes=[tensor.shape for tensor in op.outputs],
            name=name,
            attrs=op.attrs,
            kernel=op.kernel,
            repeats=op.repeats,
        )


def _predicates(op: Operation) -> list[Tensor]:
    return [branch.predicate for branch in op.branch.path] if op.branch else []


def _needed(op: Operation) -> list[Operation]:
    """Returns an operation and all operations that compute its inputs, in creation order."""
    needed: dict[Operation, None] = {}
    stack = [op]
    while stack:
        item = stack.pop()
        if item not in needed and not item.definition.takes_variable:
            needed[item] = None
            stack += [tensor.op for tensor in item.inputs]
    return sorted(needed, key=lambda item: item._id)


def _find_variable(op: Operation) -> Any:
    """Returns the variable that an operation represents, or None if it is in no collection."""
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(key):
            if variable.op is op:
                return variable
    return None
