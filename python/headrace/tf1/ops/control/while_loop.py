"""Loops with a condition.

Source: `tf.while_loop` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, as_shape, unknown_shape
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.math.compare import less, logical_and
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.ops.control.repetition import Repetition, as_results, check_result, is_within
from headrace.tf1.ops.control.structure import check_same_structure, flatten, is_nested, pack

__all__ = ["while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
    name: str | None = None,
) -> Any:
    """Repeats a part of the graph while a condition is true.

    Both functions are called once, while the graph is built. A run repeats the operations that the
    results of `body` need, one iteration after the other. It runs Python code only if one of these
    operations calls a Python function. Events that end a run, such as Ctrl-C, end the loop between
    two iterations.

    Args:
        cond: Called with the loop variables. Returns a bool scalar: whether to continue.
        body: Called with the loop variables. Returns their next values, in the same structure.
        loop_vars: The initial values: a list or tuple of tensors, sparse tensors, tensor arrays, or
            structures of them.
        shape_invariants: The static shapes that are valid in all iterations, in the structure of
            `loop_vars`. Defaults to the shapes of the initial values.
        parallel_iterations: Checked, but not used: iterations run one after the other.
        back_prop: Not used.
        swap_memory: Not used.
        maximum_iterations: The maximum number of iterations, an integer scalar. Defaults to no
            limit.
        return_same_structure: Whether a list with one element is returned as a list. If False, only
            the element is returned.
        name: Name of the scope.

    Returns:
        The last values, in the structure that `body` returns. A single value is returned without a
        list, unless `return_same_structure` is True.

    Raises:
        TypeError: If `cond` or `body` is not a function, `parallel_iterations` is not a positive
            integer, or the type of a value changes in an iteration.
        ValueError: If `loop_vars` is empty, structures differ, or a shape changes in an iteration.
    """
    with name_scope(name, "while", loop_vars) as scope:
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if not callable(cond):
            raise TypeError("cond must be callable.")
        if not callable(body):
            raise TypeError("body must be callable.")
        if parallel_iterations < 1:
            raise TypeError("parallel_iterations must be a positive integer.")
        counted = maximum_iterations is not None
        if maximum_iterations is not None:
            last = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if last.shape.rank not in (0, None):
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {last.shape}")
            cond, body, loop_vars = _limited(cond, body, loop_vars, last)
            if shape_invariants is not None:
                single = len(loop_vars) == 2 and not is_nested(loop_vars[1])
                rest = shape_invariants[0] if single else shape_invariants
                shape_invariants = (TensorShape([]), rest)
        packed = _repeated(cond, body, loop_vars, shape_invariants, parallel_iterations, scope)
        if counted:
            return packed[1]
        if return_same_structure or len(flatten(packed)) != 1:
            return packed
        return packed[0] if is_nested(packed) and not isinstance(packed, dict) else packed


def _limited(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, last: Tensor
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Returns the same loop with a counter as its first variable, to limit the iterations."""
    counter = constant(0, dtype=last.dtype, name="iteration_counter")
    if len(loop_vars) == 1:
        return (
            lambda i, value: logical_and(less(i, last), cond(value)),
            lambda i, value: (i + 1, _only(body(value))),
            (counter, loop_vars[0]),
        )
    return (
        lambda i, values: logical_and(less(i, last), cond(*values)),
        lambda i, values: (i + 1, body(*values)),
        (counter, loop_vars),
    )


def _only(result: Any) -> Any:
    return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result


def _repeated(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    parallel_iterations: int,
    scope: str,
) -> Any:
    first = [convert_to_tensor(value) for value in flatten(loop_vars)]
    shapes = [tensor.shape for tensor in first]
    if shape_invariants is not None:
        shapes = _invariants(loop_vars, shape_invariants)
        _check_invariants(first, shapes)
    repetition = Repetition(scope)
    inside = [repetition.carry(tensor, shape) for tensor, shape in zip(first, shapes, strict=True)]
    packed = pack(loop_vars, inside)
    condition = repetition.inside(lambda: convert_to_tensor(cond(*_listed(packed))))
    if condition.dtype.base_dtype != dtypes.bool:
        raise TypeError(
            f"while_loop: cond returned a tensor of type {condition.dtype.name}, expected bool."
        )
    if condition.shape.rank not in (0, None):
        raise ValueError(
            f"while_loop: cond returned a tensor of shape {condition.shape}, expected a scalar."
        )
    returned = repetition.inside(lambda: body(*_listed(packed)))
    if not is_nested(returned):
        returned = [returned]
    check_same_structure(list(_listed(packed)), list(_listed(returned)))
    results = repetition.inside(lambda: as_results(flatten(returned)))
    for tensor, shape, result in zip(first, shapes, results, strict=True):
        check_result(tensor, shape, result)
    attrs = {"parallel_iterations": parallel_iterations}
    outputs = repetition.make("While", condition, results, shapes, attrs)
    return pack(returned, repetition.exits(outputs))


def _listed(structure: Any) -> Any:
    return list(structure.values()) if isinstance(structure, dict) else structure


def _invariants(loop_vars: Any, shape_invariants: Any) -> list[TensorShape]:
    """Returns the shape invariants of the loop variables, one for each tensor."""
    argument = _flat_shapes(shape_invariants)
    variables = flatten(loop_vars, False)
    if len(argument) != len(variables):
        raise ValueError(
            f"shape_invariants has {len(argument)} shapes, expected {len(variables)}, one for each "
            "of loop_vars."
        )
    shapes: list[TensorShape] = []
    for variable, shape in zip(variables, argument, strict=True):
        if isinstance(variable, SparseTensor):
            rank = None if shape is None else as_shape(shape).rank
            shapes += [
                TensorShape([None, rank]),
                TensorShape([None]),
                TensorShape([rank]),
            ]
        else:
            shapes.append(unknown_shape() if shape is None else as_shape(shape))
    return shapes


def _flat_shapes(shapes: Any) -> list[Any]:
    if isinstance(shapes, dict):
        return [leaf for key in sorted(shapes) for leaf in _flat_shapes(shapes[key])]
    if isinstance(shapes, (list, tuple)):
        return [leaf for item in shapes for leaf in _flat_shapes(item)]
    return [shapes]


def _check_invariants(first: list[Tensor], shapes: list[TensorShape]) -> None:
    for tensor, shape in zip(first, shapes, strict=True):
        if not is_within(tensor.shape, shape):
            raise ValueError(
                f"The shape invariant specified for {tensor.name} is not compatible with the "
                f"initial shape of the loop variable. It enters the loop with shape "
                f"{tensor.shape}, but the specified shape invariant is {shape}."
            )
