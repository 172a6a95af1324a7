"""Assertions about types and ranks, which are checked while the graph is built if possible.

Source: `tf.debugging` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.ops.array.join import stack
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import rank as rank_of
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.control.assertions import message_prefix
from headrace.ops.control.control_flow import Assert, no_op
from headrace.ops.framework.conversion import convert_n_to_tensor, convert_to_tensor
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.folding import fold
from headrace.ops.math.compare import equal, greater_equal, less, less_equal
from headrace.ops.math.reduce import reduce_all, reduce_any
from headrace.ops.sparse.tensor import SparseTensor

__all__ = [
    "assert_integer",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
]


def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that a tensor has a given number of axes.

    Args:
        x: The tensor.
        rank: The rank, an int32 scalar.
        data: The tensors to show if the assertion fails. Defaults to the shape of `x`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. It does nothing if the static rank is known.

    Raises:
        InvalidArgumentError: At run time, if the rank is different.
        TypeError: If `rank` is not int32.
        ValueError: If `rank` is not a scalar, or the static shape has the wrong rank.
    """
    with name_scope(name, "assert_rank", [x, rank, *(data or ())]):
        requested = convert_to_tensor(rank, name="rank")
        options = (data, summarize, message)
        return _assert_rank(x, [requested], "must have rank", _is_equal, equal, *options)


def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that a tensor has at least a given number of axes.

    Args:
        x: The tensor.
        rank: The rank, an int32 scalar.
        data: The tensors to show if the assertion fails. Defaults to the shape of `x`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. It does nothing if the static rank is known.

    Raises:
        InvalidArgumentError: At run time, if the rank is smaller.
        TypeError: If `rank` is not int32.
        ValueError: If `rank` is not a scalar, or the static shape has fewer axes.
    """
    with name_scope(name, "assert_rank_at_least", [x, rank, *(data or ())]):
        requested = convert_to_tensor(rank, name="rank")
        words, options = "must have rank at least", (data, summarize, message)
        return _assert_rank(x, [requested], words, _is_at_least, greater_equal, *options)


def assert_rank_in(
    x: TensorLike,
    ranks: Iterable[TensorLike],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that the rank of a tensor is one of the given ranks.

    Args:
        x: The tensor.
        ranks: The allowed ranks, int32 scalars.
        data: The tensors to show if the assertion fails. Defaults to the shape of `x`.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        message: The start of the error message.
        name: Name of the scope.

    Returns:
        The operation. It does nothing if the static rank is known.

    Raises:
        InvalidArgumentError: At run time, if the rank is different.
        TypeError: If a rank is not int32.
        ValueError: If a rank is not a scalar, or the static shape has the wrong rank.
    """
    with name_scope(name, "assert_rank_in", [x, *ranks, *(data or ())]):
        requested = [convert_to_tensor(rank, name="rank") for rank in ranks]
        options = (data, summarize, message)
        return _assert_rank(x, requested, "must have rank in", _is_equal, equal, *options)


def assert_type(
    tensor: TensorLike, dtype: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Asserts that a tensor has the given type.

    Args:
        tensor: The tensor.
        dtype: The type.
        message: The start of the error message.
        name: Name of the operation.

    Raises:
        TypeError: If the tensor has the wrong type.
    """
    requested_dtype = as_dtype(dtype)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        _check_type(tensor, requested_dtype, message)
        return no_op("statically_determined_correct_type")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Asserts that a tensor has an integer type.

    Args:
        x: The tensor.
        message: The start of the error message.
        name: Name of the operation.

    Raises:
        TypeError: If the tensor has the wrong type.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message_prefix(message)}Expected "x" to be integer type.  Found: {x.name} of '
                f"dtype {x.dtype}"
            )
        return no_op("statically_determined_was_integer")


def assert_scalar(
    tensor: TensorLike, message: str | None = None, name: str | None = None
) -> Tensor:
    """Returns a tensor if it is known to be a scalar.

    Args:
        tensor: The tensor.
        message: The start of the error message.
        name: Name of the scope.

    Raises:
        ValueError: If the tensor is not a scalar, or its rank is unknown.
    """
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        scalar = convert_to_tensor(tensor, name=scope)
        if scalar.shape.rank != 0:
            raise ValueError(
                f"{message_prefix(message)}Expected scalar shape for {scalar.name}, saw shape: "
                f"{scalar.shape}."
            )
        return scalar


def assert_same_float_dtype(
    tensors: Sequence[TensorLike] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Returns the common type of several tensors.

    Args:
        tensors: A list of tensors, or None.
        dtype: The expected type. By default, any type is allowed.

    Returns:
        The common type, or float32 if neither tensors nor a type are given.

    Raises:
        ValueError: If the types differ or are not floating-point types.
    """
    common = None if dtype is None else as_dtype(dtype).base_dtype
    reference = ""
    for tensor in convert_n_to_tensor(tensors or ()):
        kind = tensor.dtype.base_dtype
        if common is not None and kind != common:
            raise ValueError(
                f"{tensor.name}, type={kind}, must be of the same type ({common}){reference}."
            )
        if common is None:
            common, reference = kind, f" as {tensor.name}"
    common = dtypes.float32 if common is None else common
    if not common.is_floating:
        raise ValueError(f"Expected floating point type, got {common}.")
    return common


def assert_proper_iterable(values: object) -> None:
    """Checks that a value is iterable, and neither a string nor a tensor.

    Raises:
        TypeError: If the value is not iterable, or is a string or a tensor.
    """
    improper = (Tensor, SparseTensor, np.ndarray, bytes, str)
    text = 'Expected argument "values" to be'
    if isinstance(values, improper):
        raise TypeError(f'{text} a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f"{text} iterable.  Found: {type(values)}")


def is_numeric_tensor(tensor: object) -> bool:
    """Returns whether a value is a tensor of a number type."""
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in NUMBERS


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether no element is smaller than the previous one, in row-major order.

    Raises:
        TypeError: If the elements are not numbers.
    """
    with name_scope(name, "is_non_decreasing", [x]):
        return _compare_neighbours(x, less_equal)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element is larger than the previous one, in row-major order.

    Raises:
        TypeError: If the elements are not numbers.
    """
    with name_scope(name, "is_strictly_increasing", [x]):
        return _compare_neighbours(x, less)


def _is_equal(actual: int, ranks: Sequence[int]) -> bool:
    return actual in ranks


def _is_at_least(actual: int, ranks: Sequence[int]) -> bool:
    return actual >= ranks[0]


def _assert_rank(
    x: TensorLike,
    ranks: list[Tensor],
    words: str,
    is_static: Callable[[int, Sequence[int]], bool],
    compare: Callable[[Tensor, Tensor], Tensor],
    data: Sequence[TensorLike] | None,
    summarize: int | None,
    message: str | None,
) -> Operation:
    x = convert_to_tensor(x, name="x")
    for rank in ranks:
        _check_type(rank, dtypes.int32, None)
    static = [fold(rank) for rank in ranks]
    if any(value is not None and value.ndim for value in static):
        raise ValueError("Rank must be a scalar.")
    if x.shape.rank is not None and all(value is not None for value in static):
        requested = [int(value) for value in static if value is not None]
        if not is_static(x.shape.rank, requested):
            shown = tuple(requested) if words.endswith(" in") else requested[0]
            raise ValueError(
                f"{message_prefix(message)}Tensor {x.name} {words} {shown}.  Received rank "
                f"{x.shape.rank}, shape {x.shape}"
            )
        return no_op("static_checks_determined_all_ok")
    if data is None:
        tensor_words = f"Tensor {x.name} {words}"
        data = [message_prefix(message), tensor_words, *ranks, "Received shape: ", shape_of(x)]
    condition = reduce_any(compare(rank_of(x), stack(ranks)))
    return Assert(condition, data, summarize=summarize)


def _check_type(tensor: Tensor, requested_dtype: DType, message: str | None) -> None:
    if tensor.dtype.base_dtype != requested_dtype:
        raise TypeError(
            f"{message_prefix(message)}{tensor.name} must be of type {requested_dtype!r}; got "
            f"{tensor.dtype!r}"
        )


def _compare_neighbours(x: TensorLike, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    flat = reshape(x, [-1])
    if not is_numeric_tensor(flat):
        raise TypeError(f"Expected x to be numeric, instead found: {flat}")
    return reduce_all(compare(flat[:-1], flat[1:]))
