"""Assertions about tensor values.

Each assertion is an operation. If the assertion does not hold, the run fails. If the values are
already known when the graph is built, building the graph fails instead.

Source: `tf.debugging` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.ops.control.control_flow import Assert
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.folding import fold
from headrace.ops.math.arithmetic import abs, add, multiply, subtract
from headrace.ops.math.compare import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from headrace.ops.math.reduce import reduce_all

__all__ = [
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
]


class Comparison(Protocol):
    """An assertion about each pair of elements of two tensors.

    Args:
        x: The first tensor.
        y: The second tensor, of the same type. Shapes are broadcast.
        data: The tensors to show if the assertion fails. Defaults to `x` and `y`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. Run it, or make other operations wait for it.

    Raises:
        InvalidArgumentError: If the assertion fails. It fails at once if both values are known, and
            otherwise when run.
    """

    def __call__(
        self,
        x: TensorLike,
        y: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        """Adds the assertion to the current graph."""


class SignAssertion(Protocol):
    """An assertion about the sign of each element of a tensor.

    Args:
        x: The tensor.
        data: The tensors to show if the assertion fails. Defaults to `x`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. Run it, or make other operations wait for it.

    Raises:
        InvalidArgumentError: If the assertion fails. It fails at once if the value is known, and
            otherwise when run.
    """

    def __call__(
        self,
        x: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        """Adds the assertion to the current graph."""


def message_prefix(message: str | None) -> str:
    """Returns the user's message as the prefix of an error message."""
    return f"{message}.  " if message else ""


def _compare(opname: str, symbol: str, summary: str, function: Callable[..., Tensor]) -> Comparison:
    """Creates the public function for one comparison."""

    def check(
        x: TensorLike,
        y: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, opname, [x, y, *(data or ())]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y")
            shown = data
            if shown is None:
                words = f"Condition x {symbol} y did not hold element-wise:"
                shown = [words, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            if message is not None:
                shown = [message, *shown]
            return _assert_all(function(x, y), shown, summarize)

    check.__name__ = check.__qualname__ = opname
    check.__doc__ = f"{summary}\n\n{(Comparison.__doc__ or '').split(chr(10), 2)[2]}"
    return check


def _compare_to_zero(
    opname: str, words: list[str], summary: str, function: Callable[[Tensor, Tensor], Tensor]
) -> SignAssertion:
    """Creates the public function for one sign assertion.

    Args:
        opname: The name of the function.
        words: The error message. `{name}` is the tensor's name.
        summary: The first line of the function's documentation.
        function: Called with the tensor and 0.
    """

    def check(
        x: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, opname, [x, *(data or ())]):
            x = convert_to_tensor(x, name="x")
            shown = data
            if shown is None:
                texts = [text.format(name=x.name) for text in words]
                shown = [message_prefix(message), *texts, x]
            zero = convert_to_tensor(0, dtype=x.dtype.base_dtype)
            return _assert_all(function(x, zero), shown, summarize)

    check.__name__ = check.__qualname__ = opname
    check.__doc__ = f"{summary}\n\n{(SignAssertion.__doc__ or '').split(chr(10), 2)[2]}"
    return check


def _assert_all(holds: Tensor, data: Sequence[TensorLike], summarize: int | None) -> Operation:
    condition = reduce_all(holds)
    # A branch may never run, so assertions on branches do not fail early. Elsewhere, more values
    # are known early than in TensorFlow.
    static = [None if holds.op.branch else fold(tensor) for tensor in holds.op.inputs]
    if all(value is not None for value in static) and holds.op.kernel is not None:
        is_true = np.all(holds.op.kernel(*static))
        if not is_true:
            text = "\n".join(_write(item) for item in data)
            raise InvalidArgumentError(None, None, text)
    return Assert(condition, data, summarize=summarize)


def _write(item: object) -> str:
    value = fold(item) if isinstance(item, Tensor) else None
    return str(item if value is None else value)


assert_equal = _compare("assert_equal", "==", "Asserts that x == y everywhere.", equal)
assert_none_equal = _compare(
    "assert_none_equal", "!=", "Asserts that x != y everywhere.", not_equal
)
assert_less = _compare("assert_less", "<", "Asserts that x < y everywhere.", less)
assert_less_equal = _compare(
    "assert_less_equal", "<=", "Asserts that x <= y everywhere.", less_equal
)
assert_greater = _compare("assert_greater", ">", "Asserts that x > y everywhere.", greater)
assert_greater_equal = _compare(
    "assert_greater_equal", ">=", "Asserts that x >= y everywhere.", greater_equal
)
assert_positive = _compare_to_zero(
    "assert_positive",
    ["Condition x > 0 did not hold element-wise:", "x ({name}) = "],
    "Asserts that x > 0 everywhere.",
    greater,
)
assert_negative = _compare_to_zero(
    "assert_negative",
    ["Condition x < 0 did not hold element-wise:", "x ({name}) = "],
    "Asserts that x < 0 everywhere.",
    less,
)
assert_non_negative = _compare_to_zero(
    "assert_non_negative",
    ["Condition x >= 0 did not hold element-wise:", "x ({name}) = "],
    "Asserts that x >= 0 everywhere.",
    greater_equal,
)
assert_non_positive = _compare_to_zero(
    "assert_non_positive",
    ["Condition x <= 0 did not hold element-wise:x ({name}) = "],
    "Asserts that x <= 0 everywhere.",
    less_equal,
)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that abs(x - y) < atol + rtol * abs(y) everywhere.

    Args:
        x: The first tensor, of a floating-point type.
        y: The second tensor, of the same type. Shapes are broadcast.
        rtol: The relative tolerance. Defaults to ten times the machine epsilon of the type.
        atol: The absolute tolerance. Defaults to ten times the machine epsilon of the type.
        data: The tensors to show if the assertion fails. Defaults to `x` and `y`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. Run it, or make other operations wait for it.

    Raises:
        InvalidArgumentError: At run time, if the assertion fails.
        ValueError: If the tensors are not of a floating-point type.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, *(data or ())]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        kind = x.dtype.base_dtype
        if not kind.is_floating:
            raise ValueError(
                f"assert_near: x has type {kind.name}, expected a floating-point type."
            )
        smallest = 10 * np.finfo(np.dtype(kind.as_numpy_dtype)).eps
        rtol = convert_to_tensor(smallest if rtol is None else rtol, name="rtol", dtype=kind)
        atol = convert_to_tensor(smallest if atol is None else atol, name="atol", dtype=kind)
        if data is None:
            words = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
            data = [message_prefix(message), words, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        tolerance = add(atol, multiply(rtol, abs(y)))
        condition = reduce_all(less(abs(subtract(x, y)), tolerance))
        return Assert(condition, data, summarize=summarize)
