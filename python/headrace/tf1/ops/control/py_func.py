"""Python functions as operations.

Source: `tf.py_func` in TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, cast, overload

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DType, DTypeLike, as_dtype, kernel_name
from headrace.core.shapes import unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define, graph_of, name_scope
from headrace.ops.framework.conversion import convert_n_to_tensor
from headrace.ops.framework.kernel import Array, as_array, fail

__all__ = ["py_func"]

# Numbers this process's functions, for their names in error messages.
_numbers: Final = itertools.count()
# Each function's kernel by token, as long as a graph refers to it.
_kernels: Final[weakref.WeakValueDictionary[str, _PythonKernel]] = weakref.WeakValueDictionary()


@overload
def py_func(
    func: Callable[..., Any],
    inputs: Sequence[TensorLike],
    output_types: DTypeLike,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor: ...


@overload
def py_func(
    func: Callable[..., Any],
    inputs: Sequence[TensorLike],
    output_types: Sequence[DTypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> Any: ...


def py_func(
    func: Callable[..., Any],
    inputs: Sequence[TensorLike],
    output_types: DTypeLike | Sequence[DTypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> Operation | Tensor | list[Tensor]:
    """Adds an operation that calls a Python function.

    The function runs in the thread of the run that needs its results. It holds the GIL, and several
    threads can call it at the same time.

    Args:
        func: The function to call with one NumPy array, scalar or bytes object per input, which it
            can modify. It returns one value for each type in `output_types`, as a list or tuple if
            there are several.
        inputs: The tensors to call the function with.
        output_types: The type of the result, or a list of types. Results are not converted: a
            Python int is int64, and a Python float is float64.
        stateful: Whether the results can differ for the same inputs.
        name: Name of the operation.

    Returns:
        A tensor, a list of tensors if `output_types` is a list, or the operation if `output_types`
        is an empty list. The shapes are unknown. An exception in the function ends the run.

    Raises:
        InvalidArgumentError: At run time, if the results do not match `output_types`.
        TypeError: If `func` cannot be called.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got {func!r}")
    is_list = isinstance(output_types, (list, tuple))
    output_dtypes = [as_dtype(item) for item in _as_list(output_types)]
    op_type = "PyFunc" if stateful else "PyFuncStateless"
    token = f"pyfunc_{next(_numbers)}"
    with name_scope(name, op_type, inputs) as scope:
        tensors = convert_n_to_tensor(inputs, name="input")
        op = graph_of(inputs).create_op(
            op_type,
            tensors,
            output_dtypes,
            output_shapes=[unknown_shape()] * len(output_dtypes),
            name=scope,
            attrs={
                "python_function": True,
                "token": token,
                "Tin": [tensor.dtype.base_dtype for tensor in tensors],
                "Tout": output_dtypes,
            },
            kernel=_PythonKernel(func, output_dtypes, token),
        )
    return _results(op, is_list)


def kernel_of_token(token: str) -> Callable[..., Any] | None:
    """Returns the kernel that calls an operation's function, given the operation's token.

    Returns None if this process no longer has the function. Only graphs keep functions alive.
    """
    return _kernels.get(token)


class _PythonKernel:
    """Calls the user's function and checks its results.

    Attributes:
        function: The user's function.
    """

    def __init__(
        self, function: Callable[..., Any], output_dtypes: Sequence[DType], token: str
    ) -> None:
        self.function = function
        self._output_dtypes = tuple(output_dtypes)
        self._token = token
        _kernels[token] = self

    def __call__(self, *inputs: npt.ArrayLike) -> Any:
        """Computes the outputs: an array if there is one output, otherwise a tuple of arrays."""
        returned = self.function(*[_as_argument(value) for value in inputs])
        if returned is None:
            returned = []
        values = returned if isinstance(returned, (list, tuple)) else [returned]
        if len(values) != len(self._output_dtypes):
            fail(
                f"{self._token} returns {len(values)} values, but expects to see "
                f"{len(self._output_dtypes)} values."
            )
        arrays = tuple(
            self._check(index, value, dtype)
            for index, (value, dtype) in enumerate(zip(values, self._output_dtypes, strict=True))
        )
        return arrays[0] if len(arrays) == 1 else arrays

    def _check(self, index: int, value: object, dtype: DType) -> Array:
        array = _as_result(value)
        actual_dtype = as_dtype(array.dtype)
        if actual_dtype != dtype:
            fail(
                f"{index}-th value returned by {self._token} is {kernel_name(actual_dtype)}, but "
                f"expects {kernel_name(dtype)}"
            )
        return array


def _as_list(output_types: DTypeLike | Sequence[DTypeLike]) -> Sequence[DTypeLike]:
    if isinstance(output_types, (list, tuple)):
        return output_types
    return [cast("DTypeLike", output_types)]


def _results(op: Operation, is_list: bool) -> Operation | Tensor | list[Tensor]:
    if is_list:
        return op.outputs or op
    return op.outputs[0]


def _as_argument(value: npt.ArrayLike) -> Any:
    array = as_array(value)
    return array[()] if array.ndim == 0 else array.copy()


def _as_result(value: object) -> Array:
    if isinstance(value, (str, bytes)):
        return as_array(value.encode() if isinstance(value, str) else bytes(value))
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "OSU":
        return array
    encoded = np.empty(array.shape, dtype=object)
    items = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    for item in items:
        if not isinstance(item, bytes):
            fail(f"Unsupported object type {type(item).__name__}")
    encoded.ravel()[:] = items
    return encoded


# The user's function is called in every run, even if `stateful` is False.
define("PyFunc", is_stateful=True)
define("PyFuncStateless", is_stateful=True)
