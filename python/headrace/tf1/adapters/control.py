"""Conditions, loops and printing, with the names from TensorFlow 1.

Source: `tf.cond`, `tf.while_loop` and `tf.Print` in TensorFlow 1.15.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from headrace.core.dtypes import DTypeLike
from headrace.graph import Operation, SupportsTensor, Tensor, TensorLike
from headrace.tf1 import ops

__all__ = [
    "Print",
    "assert_scalar",
    "assert_type",
    "cond",
    "numpy_function",
    "py_func",
    "tuple",
    "while_loop",
]


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Calls `ops.cond`. `fn1` and `fn2` are the old names of `true_fn` and `false_fn`.

    Raises:
        TypeError: If one of the functions is missing or passed twice. See also `ops.cond`.
        ValueError: See `ops.cond`.
    """
    true_fn = _either(true_fn, fn1, "true_fn", "fn1")
    false_fn = _either(false_fn, fn2, "false_fn", "fn2")
    return ops.cond(pred, true_fn, false_fn, strict, name)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Calls `ops.while_loop` with the arguments in their old order."""
    return ops.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
        return_same_structure,
        name,
    )


def _either(
    function: Callable[[], Any] | None,
    old: Callable[[], Any] | None,
    argument: str,
    old_argument: str,
) -> Callable[[], Any]:
    if function is not None and old is not None:
        raise TypeError(f"cond(): '{argument}' and '{old_argument}' may not be set simultaneously.")
    chosen = old if function is None else function
    if chosen is None:
        raise TypeError(f"cond(): '{argument}' argument required")
    if not callable(chosen):
        raise TypeError(f"{argument} must be callable.")
    return chosen


def Print(
    input_: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.print_values`."""
    return ops.print_values(input_, data, message, first_n, summarize, name)


def assert_scalar(
    tensor: TensorLike, name: str | None = None, message: str | None = None
) -> Tensor:
    """Calls `ops.assert_scalar` with the arguments in their old order."""
    return ops.assert_scalar(tensor, message, name)


def tuple(
    tensors: Sequence[TensorLike | Operation | None],
    name: str | None = None,
    control_inputs: Iterable[Operation | Tensor | SupportsTensor] | None = None,
) -> list[Any]:
    """Calls `ops.tuple` with the arguments in their old order."""
    return ops.tuple(tensors, control_inputs, name)


@overload
def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: DTypeLike,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor: ...


@overload
def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: Sequence[DTypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> Any: ...


def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls `ops.py_func`, whose arguments have different names."""
    return ops.py_func(func, inp, Tout, stateful, name)


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike],
    name: str | None = None,
) -> Any:
    """Calls `ops.py_func` with a function that accepts and returns arrays."""
    return ops.py_func(func, inp, Tout, name=name)


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Calls `ops.assert_type`, which calls `tf_type` `dtype`."""
    return ops.assert_type(tensor, tf_type, message, name)
