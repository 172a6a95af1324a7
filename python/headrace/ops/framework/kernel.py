"""NumPy kernels, which compute operations with Python functions on arrays.

Operations without a native kernel have a NumPy kernel. It is called with one value for each input,
and returns one array for each output, as most NumPy functions do. `NumpyKernel` converts inputs to
arrays, and results to arrays of the declared types.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.graph import KernelKind, Operation

__all__ = [
    "Array",
    "NumpyKernel",
    "as_array",
    "by_either",
    "by_numpy_in_sessions",
    "fail",
    "string_array",
]

Array = npt.NDArray[Any]


class NumpyKernel:
    """A function on arrays, with the types of its results.

    Args:
        function: Receives one array per input. Returns one array, or a sequence of arrays if there
            is more than one output.
        output_dtypes: The type of each output.
    """

    __slots__ = ("_function", "_numpy_types")

    def __init__(self, function: Callable[..., Any], output_dtypes: Sequence[DType]) -> None:
        self._function = function
        self._numpy_types = tuple(dtype.as_numpy_dtype for dtype in output_dtypes)

    def __call__(self, *inputs: npt.ArrayLike) -> Any:
        """Computes the outputs: an array, or a tuple of arrays if there is more than one."""
        with np.errstate(all="ignore"):  # TensorFlow's kernels do not warn: 1 / 0 is inf.
            results = self._function(*[as_array(value) for value in inputs])
        if not self._numpy_types:
            return ()
        if len(self._numpy_types) == 1:
            return _conform(results, self._numpy_types[0])
        return tuple(
            _conform(result, numpy_type)
            for result, numpy_type in zip(results, self._numpy_types, strict=True)
        )


def as_array(value: npt.ArrayLike) -> Array:
    """Returns a NumPy value as an array. A scalar string becomes an object array of rank 0."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bytes, str)):
        boxed = np.empty((), dtype=object)
        boxed[()] = value
        return boxed
    return np.asarray(value)


def string_array(items: list[bytes], shape: Sequence[int]) -> Array:
    """Returns an array of strings.

    Args:
        items: The elements, in row-major order.
        shape: The shape.
    """
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def by_either(op: Operation) -> KernelKind:
    """An `OpDef.computed` that allows either kernel, because both return the same bits."""
    return KernelKind.BY_EITHER


def by_numpy_in_sessions(op: Operation) -> KernelKind:
    """An `OpDef.computed` for native kernels that may differ from NumPy in the last bits.

    Sessions then use the NumPy kernel, and pipelines the native kernel.
    """
    is_complex = any(tensor.dtype.is_complex for tensor in op.inputs)
    return KernelKind.BY_NUMPY if is_complex else KernelKind.BY_NUMPY_IN_SESSIONS


def fail(text: str) -> NoReturn:
    """Raises an operation's error for invalid input values."""
    raise InvalidArgumentError(None, None, text)


def _conform(result: npt.ArrayLike, numpy_type: type[np.generic]) -> Array:
    array = as_array(result)
    return array if array.dtype == numpy_type else array.astype(numpy_type)
