"""Arithmetic and reductions, with the names from TensorFlow 1.

Source: `tf.reduce_sum`, `tf.argmax`, `tf.div`, `tf.sparse_matmul` and similar functions of
TensorFlow 1.15.
"""

from typing import Protocol

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.framework.attributes import check_allowed
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import REALS, binary
from headrace.ops.math.arithmetic import check_same_type
from headrace.ops.math.reduce import Reduction
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "count_nonzero",
    "div",
    "floor_div",
    "l2_normalize",
    "matmul",
    "moments",
    "multinomial",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "softmax",
    "sparse_matmul",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "verify_tensor_all_finite",
]


class OldReduction(Protocol):
    """A function that reduces a tensor over the given axes.

    Args:
        input_tensor: The tensor to reduce.
        axis: An axis, or a list or vector of axes. Defaults to all axes.
        keepdims: Whether the reduced axes are kept with size 1.
        name: The name of the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: If an axis does not exist, or both an old and a new name are given.
    """

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        """Adds the reduction to the current graph."""


def _with_old_names(name_in_ops: str, function: Reduction) -> OldReduction:
    """Returns a reduction that also accepts the old names of its arguments."""

    def adapter(
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = only_one("axis", axis, "reduction_indices", reduction_indices)
        keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
        return function(input_tensor, axis, keep, name)

    first_line = (function.__doc__ or "").split("\n", 1)[0]
    adapter.__name__ = adapter.__qualname__ = name_in_ops
    adapter.__doc__ = f"{first_line}\n\n{(OldReduction.__doc__ or '').split(chr(10), 2)[2]}"
    return adapter


reduce_sum = _with_old_names("reduce_sum", ops.reduce_sum)
reduce_prod = _with_old_names("reduce_prod", ops.reduce_prod)
reduce_mean = _with_old_names("reduce_mean", ops.reduce_mean)
reduce_max = _with_old_names("reduce_max", ops.reduce_max)
reduce_min = _with_old_names("reduce_min", ops.reduce_min)
reduce_all = _with_old_names("reduce_all", ops.reduce_all)
reduce_any = _with_old_names("reduce_any", ops.reduce_any)


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.count_nonzero`. Also accepts `input_tensor`, `reduction_indices` and `keep_dims`.

    Raises:
        ValueError: If both an old and a new name are given.
    """
    keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
    counted = only_one("input", input, "input_tensor", input_tensor)
    axis = only_one("axis", axis, "reduction_indices", reduction_indices)
    return ops.count_nonzero(counted, axis, keep, dtype, name)


def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Calls `ops.argmax`. Also accepts `dimension`, the old name of `axis`.

    Raises:
        ValueError: If the axis does not exist, or both names are given.
    """
    return ops.argmax(input, only_one("axis", axis, "dimension", dimension), output_type, name)


def argmin(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Calls `ops.argmin`. Also accepts `dimension`, the old name of `axis`.

    Raises:
        ValueError: If the axis does not exist, or both names are given.
    """
    return ops.argmin(input, only_one("axis", axis, "dimension", dimension), output_type, name)


def arg_max(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.argmax`. This is the old name of `tf.argmax`."""
    return ops.argmax(input, dimension, output_type, name)


def arg_min(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.argmin`. This is the old name of `tf.argmin`."""
    return ops.argmin(input, dimension, output_type, name)


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.matmul`. Ignores `a_is_sparse` and `b_is_sparse`."""
    return ops.matmul(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, name)


def sparse_matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.matmul` for float32 matrices. Ignores `a_is_sparse` and `b_is_sparse`.

    Raises:
        TypeError: If a factor has the wrong type.
        ValueError: If the sizes do not match.
    """
    with name_scope(name, "SparseMatMul", [a, b]) as scope:
        x, y = (convert_to_tensor(each, dtype_hint=dtypes.float32) for each in (a, b))
        for what, factor in (("a", x), ("b", y)):
            check_allowed(what, factor.dtype.base_dtype, (dtypes.float32,))
        return ops.matmul(x, y, transpose_a, transpose_b, name=scope)


def softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Calls `ops.softmax`. Also accepts `dim`, the old name of `axis`.

    Raises:
        ValueError: If both names are given, or `logits` is a scalar.
        InvalidArgumentError: If the axis does not exist.
    """
    return ops.softmax(logits, only_one("axis", axis, "dim", dim), name)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.l2_normalize`. Also accepts `dim`, the old name of `axis`.

    Raises:
        ValueError: If both names are given.
    """
    return ops.l2_normalize(x, only_one("axis", axis, "dim", dim), epsilon, name)


def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: object = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Calls `ops.moments`. Also accepts `keep_dims`, the old name of `keepdims`.

    `shift` is accepted but has no effect, as in TensorFlow 1.15.

    Raises:
        ValueError: If both names are given.
    """
    keep = only_one("keepdims", keepdims, "keep_dims", keep_dims)
    return ops.moments(x, axes, bool(keep), name)


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Calls `ops.assert_all_finite`; `t` and `msg` are the old names of `x` and `message`.

    Raises:
        ValueError: If both an old and a new name are given.
    """
    tensor = only_one("x", x, "t", t)
    text = only_one("message", message, "msg", msg)
    return ops.assert_all_finite(tensor, text, name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides as in Python 2: integer results are rounded down, and other results are exact.

    Raises:
        TypeError: If the types differ.
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        check_same_type(x, y)
        is_real = x.dtype.is_floating or x.dtype.is_complex
        return (ops.realdiv if is_real else ops.floordiv)(x, y, name=scope)


def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y, rounded down to an integer. Unlike `floordiv`, this opens no name scope."""
    return binary("FloorDiv", x, y, name, allowed=REALS)


def to_float(x: TensorLike | SparseTensor, name: str = "ToFloat") -> Tensor:
    """Converts to float32."""
    return ops.cast(x, dtypes.float32, name)


def to_double(x: TensorLike | SparseTensor, name: str = "ToDouble") -> Tensor:
    """Converts to float64."""
    return ops.cast(x, dtypes.float64, name)


def to_int32(x: TensorLike | SparseTensor, name: str = "ToInt32") -> Tensor:
    """Converts to int32."""
    return ops.cast(x, dtypes.int32, name)


def to_int64(x: TensorLike | SparseTensor, name: str = "ToInt64") -> Tensor:
    """Converts to int64."""
    return ops.cast(x, dtypes.int64, name)


def to_complex64(x: TensorLike | SparseTensor, name: str = "ToComplex64") -> Tensor:
    """Converts to complex64."""
    return ops.cast(x, dtypes.complex64, name)


def to_complex128(x: TensorLike | SparseTensor, name: str = "ToComplex128") -> Tensor:
    """Converts to complex128."""
    return ops.cast(x, dtypes.complex128, name)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Calls `ops.multinomial`, where `name` is the last argument."""
    return ops.multinomial(logits, num_samples, seed, output_dtype, name)
