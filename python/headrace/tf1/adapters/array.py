"""Operations on shapes and indices, with the names from TensorFlow 1.

Source: `tf.concat`, `tf.expand_dims`, `tf.gather` and similar functions in TensorFlow 1.15.
"""

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "boolean_mask",
    "concat",
    "constant",
    "convert_to_tensor",
    "expand_dims",
    "gather",
    "gather_nd",
    "lin_space",
    "ones_like",
    "pad",
    "parallel_stack",
    "reverse_v2",
    "shape",
    "shape_n",
    "size",
    "slice",
    "squeeze",
    "strided_slice",
    "transpose",
    "zeros_like",
]

# Axes that must be known when the graph is built.
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[Any]

lin_space = ops.linspace
reverse_v2 = ops.reverse


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Tensor:
    """Calls `ops.convert_to_tensor`. Accepts `preferred_dtype`, the old name of `dtype_hint`."""
    return ops.convert_to_tensor(value, dtype, preferred_dtype or dtype_hint, name)


def concat(values: TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Calls `ops.concat`. `axis` can also come first, as before TensorFlow 1.0.

    In this case, scalars are treated as vectors of one element.
    """
    if isinstance(values, (int, np.integer)) and isinstance(axis, (list, tuple)):
        values, axis = [ops.convert_to_tensor(value) for value in axis], values
        if all(value.shape.rank == 0 for value in values):
            return ops.stack(values, name=name)
    return ops.concat(values, axis, name)


def expand_dims(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.expand_dims`. Also accepts `dim`, the old name of `axis`.

    Raises:
        ValueError: If neither or both of `axis` and `dim` are given, or the axis does not exist.
    """
    axis = only_one("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return ops.expand_dims(input, axis, name)


def squeeze(
    input: TensorLike,
    axis: _Axes | None = None,
    name: str | None = None,
    squeeze_dims: _Axes | None = None,
) -> Tensor:
    """Calls `ops.squeeze`. Also accepts `squeeze_dims`, the old name of `axis`.

    Raises:
        ValueError: If both names are given, the axis does not exist, or its size is known not to be
            1.
    """
    return ops.squeeze(input, only_one("axis", axis, "squeeze_dims", squeeze_dims), name)


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Calls `ops.gather`. Ignores `validate_indices`: indices are always checked."""
    return ops.gather(params, indices, axis, batch_dims, name)


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: object = None,
    name: str | None = None,
) -> Tensor:
    """Calls `ops.strided_slice`. Ignores `var`."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return ops.strided_slice(input_, begin, end, strides, *masks, name)


def boolean_mask(
    tensor: TensorLike,
    mask: TensorLike,
    name: str = "boolean_mask",
    axis: int | None = None,
) -> Tensor:
    """Calls `ops.boolean_mask` with the arguments in their old order."""
    return ops.boolean_mask(tensor, mask, axis, name)


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Calls `ops.gather_nd` with the arguments in their old order."""
    return ops.gather_nd(params, indices, batch_dims, name)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Iterable[SupportsIndex] | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Calls `ops.constant` with the arguments in their old order."""
    return ops.constant(value, dtype, shape, verify_shape, name)


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Calls `ops.pad` with the arguments in their old order."""
    return ops.pad(tensor, paddings, mode, constant_values, name)


def shape(
    input: TensorLike | SparseTensor, name: str | None = None, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """Calls `ops.shape` with the arguments in their old order."""
    return ops.shape(input, out_type, name)


def size(
    input: TensorLike | SparseTensor, name: str | None = None, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """Calls `ops.size` with the arguments in their old order.

    For a sparse tensor, elements that are not stored also count.
    """
    if not isinstance(input, SparseTensor):
        return ops.size(input, out_type, name)
    with name_scope(name, "Size", [input]) as scope:
        return ops.reduce_prod(ops.cast(input.dense_shape, out_type), 0, name=scope)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Calls `ops.transpose` with the arguments in their old order."""
    return ops.transpose(a, perm, conjugate, name)


def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Calls `ops.zeros_like` with the arguments in their old order."""
    return ops.zeros_like(tensor, dtype, optimize, name)


def ones_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Calls `ops.ones_like` with the arguments in their old order. Ignores `optimize`."""
    return ops.ones_like(tensor, dtype, name)


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """Calls `ops.slice`, whose first argument has a different name."""
    return ops.slice(input_, begin, size, name)


def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """Calls `ops.stack` along a new first axis."""
    return ops.stack(values, name=name)


def shape_n(
    input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """Calls `ops.shape` for each of several tensors."""
    with name_scope(name, "ShapeN", input):
        return [ops.shape(tensor, out_type=out_type) for tensor in input]
