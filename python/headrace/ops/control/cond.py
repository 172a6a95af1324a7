"""Conditional execution.

Source: `tf.cond` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import scalar
from headrace.graph import (
    Operation,
    Role,
    Tensor,
    TensorLike,
    define,
    get_default_graph,
    name_scope,
)
from headrace.ops.array.placeholder import identity
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["cond"]


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    strict: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the result of one of two functions, which a bool selects in each run.

    Only the operations that a function adds are conditional. Operations from outside the function
    always run, even if only one function uses them.

    Args:
        pred: A bool scalar tensor.
        true_fn: Adds the operations to run if `pred` is true.
        false_fn: Adds the operations to run if `pred` is false. It must return the same structure
            and types as `true_fn`.
        strict: Whether a list with one element is returned as a list. If False, only the element is
            returned.
        name: Name of the scope.

    Returns:
        The results of the functions: a tensor, or a list, tuple or dict of tensors. An operation is
        replaced by a bool tensor that depends on it.

    Raises:
        TypeError: If an argument has the wrong type, or the types of the structures differ.
        ValueError: If the functions return nothing, different numbers of tensors, or different
            dtypes.
    """
    for function, argument in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"{argument} must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond", [pred]):
        predicate = convert_to_tensor(pred, dtype=dtypes.bool, name="pred")
        predicate.shape.assert_is_compatible_with(scalar())
        # Each run evaluates the predicate once, even if a feed or a variable changes later.
        predicate = identity(predicate, name="pred_id")
        if_true = _Branch(predicate, True, true_fn, "true_fn", strict)
        if_false = _Branch(predicate, False, false_fn, "false_fn", strict)
        _check_same(if_true, if_false)
        merged = (
            merge_branches(predicate, *pair)
            for pair in zip(if_false.leaves, if_true.leaves, strict=True)
        )
        return if_true.pack(merged)


class _Branch:
    """One function's result, with its leaves as tensors on the branch."""

    def __init__(
        self,
        predicate: Tensor,
        is_taken_if: bool,
        function: Callable[[], Any],
        argument: str,
        strict: bool,
    ) -> None:
        with get_default_graph().on_branch(predicate, is_taken_if):
            self.structure = _unpacked(function(), strict)
            if self.structure is None:
                raise ValueError(f"{argument} must have a return value.")
            self.leaves = [_as_tensor(leaf, predicate) for leaf in _leaves(self.structure)]

    def pack(self, leaves: Iterator[Tensor]) -> Any:
        """Returns the structure with the given leaves."""
        return _replace(self.structure, leaves)


def _as_tensor(leaf: Operation | TensorLike, predicate: Tensor) -> Tensor:
    if isinstance(leaf, Operation):
        return with_dependencies([leaf], predicate)
    # Wrap a tensor from outside the branch in an identity operation inside it, so that it is
    # reached only through the merge.
    return identity(convert_to_tensor(leaf))


def _leaves(structure: object) -> Iterator[Any]:
    if isinstance(structure, SparseTensor):
        yield from (structure.indices, structure.values, structure.dense_shape)
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from _leaves(structure[key])
    elif isinstance(structure, (list, tuple)):
        for item in structure:
            yield from _leaves(item)
    else:
        yield structure


def _replace(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, SparseTensor):
        return SparseTensor(next(leaves), next(leaves), next(leaves))
    if isinstance(structure, dict):
        values = {key: _replace(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, values[key]) for key in structure)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_replace(item, leaves) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(_replace(item, leaves) for item in structure)
    return next(leaves)


def _skeleton(structure: object) -> object:
    """Returns the structure without its tensors. Structures with equal skeletons can be merged."""
    if isinstance(structure, SparseTensor):
        return "SparseTensor"
    if isinstance(structure, dict):
        return {key: _skeleton(value) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure), [_skeleton(item) for item in structure]
    return "tensor"


def _check_same(if_true: _Branch, if_false: _Branch) -> None:
    if _skeleton(if_true.structure) != _skeleton(if_false.structure):
        both = f"of true_fn and false_fn: {if_true.structure!r} and {if_false.structure!r}"
        if len(if_true.leaves) == len(if_false.leaves) > 1:
            raise TypeError(f"Incompatible return types {both}")
        raise ValueError(f"Incompatible return values {both}")
    if not if_true.leaves:
        raise ValueError("true_fn and false_fn must return at least one result.")
    types, others = ([t.dtype.base_dtype for t in branch.leaves] for branch in (if_true, if_false))
    if types != others:
        raise ValueError(
            "Outputs of true_fn and false_fn must have the same type: "
            f"{', '.join(t.name for t in types)} and {', '.join(t.name for t in others)}"
        )


def merge_branches(predicate: Tensor, if_false: Tensor, if_true: Tensor) -> Tensor:
    """Returns one of two tensors of the same type, selected by a bool scalar.

    The result has no value if the selected tensor has none.
    """
    op = get_default_graph().create_op(
        "Merge",
        [if_false, if_true, predicate],
        [if_true.dtype.base_dtype],
        output_shapes=[if_true.shape.most_specific_compatible_shape(if_false.shape)],
    )
    return op.outputs[0]


def _unpacked(result: object, strict: bool) -> Any:
    """Unpacks a list or tuple with one element, unless `strict` is True."""
    if isinstance(result, (list, tuple)) and len(result) == 1 and not strict:
        return result[0]
    return result


define("Merge", is_own=True, role=Role.MERGE)
