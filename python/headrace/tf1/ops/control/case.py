"""Runs the first function whose condition is true.

Source: `tf.case` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, control_dependencies, name_scope
from headrace.ops.array.join import stack
from headrace.ops.control.cond import cond
from headrace.ops.control.control_flow import Assert
from headrace.ops.framework.conversion import constant
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import less_equal
from headrace.ops.math.reduce import reduce_sum

__all__ = ["case"]

_Pair = tuple[Tensor, Callable[[], Any]]


def case(
    pred_fn_pairs: Sequence[_Pair] | Mapping[Tensor, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns the result of the first function whose condition is true.

    Args:
        pred_fn_pairs: Pairs of a bool scalar and a function, which are tried in order. In an
            unordered dict, conditions are tried in the order of their names.
        default: The function to call if no condition is true. If None, the run fails in that case.
        exclusive: Whether the run fails if several conditions are true.
        strict: Whether a list with one element is returned as a list. If False, only the element is
            returned.
        name: Name of the scope.

    Returns:
        The results of the function; see `cond`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `pred_fn_pairs` is empty, or the results of the functions differ; see `cond`.
    """
    pairs = _checked(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    with name_scope(name, "case", [predicate for predicate, _ in pairs]):
        predicates = [predicate for predicate, _ in pairs]
        function = default
        if function is None:
            *pairs, (last, action) = pairs
            function = partial(_expected, last, action, predicates)
        for predicate, action in reversed(pairs):
            function = partial(cond, predicate, action, function, strict)
        if not exclusive:
            return function()
        with control_dependencies([_at_most_one(predicates)]):
            return function()


def _checked(value: Any) -> list[_Pair]:
    if not isinstance(value, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(value, OrderedDict):
        pairs = list(value.items())
    elif isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda item: item[0].name)
    else:
        pairs = list(value)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        predicate, function = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype.base_dtype != dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    if not pairs:
        raise ValueError("case: pred_fn_pairs is empty, expected at least one condition.")
    return pairs


def _expected(predicate: Tensor, action: Callable[[], Any], predicates: list[Tensor]) -> Any:
    """Calls the last function. Its condition must hold, because all other conditions are false."""
    names = ", ".join(tensor.name for tensor in predicates)
    message = f"Input error: None of conditions evaluated as True: {names}"
    with control_dependencies([Assert(predicate, [message, stack(predicates)])]):
        return action()


def _at_most_one(predicates: list[Tensor]) -> Any:
    conditions = stack(predicates, name="preds_c")
    count = reduce_sum(cast(conditions, dtypes.int32), name="num_true_conds")
    names = ", ".join(tensor.name for tensor in predicates)
    message = f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:"
    at_most_one = less_equal(count, constant(1, name="n_true_conds"))
    return Assert(at_most_one, [message, conditions], summarize=len(predicates))
