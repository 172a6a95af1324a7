"""Operations that keep the elements and change the shape.

Source: `tf.reshape`, `tf.transpose` and their kin of TensorFlow 1.15.
"""

import math
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.graph import Tensor, name_scope
from headrace.ops.arguments import Input, apply_op, only_one
from headrace.ops.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.folding import fold, fold_scalar
from headrace.ops.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.kernel import Array, fail
from headrace.ops.sequences import range as range_of
from headrace.shapes import TensorShape, as_shape, bracketed, unknown_shape

__all__ = ["ensure_shape", "expand_dims", "reshape", "squeeze", "transpose"]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns the same elements in another shape.

    Args:
        tensor: The tensor.
        shape: The new shape, an integer vector; one size may be -1 and is then computed.
        name: Name of the operation.

    Raises:
        ValueError: If the static shapes have different numbers of elements.
    """
    inputs = [
        Input("tensor", tensor),
        Input("shape", shape, var="Tshape", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]
    return apply_op("Reshape", inputs, _infer_reshape, name=name).outputs[0]


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns a tensor as it is, if it has a shape.

    Args:
        x: The tensor.
        shape: The shape; None for each size that may be any.
        name: Name of the operation.

    Returns:
        The same values; the static shape knows what `shape` says. A run with another shape ends
        with InvalidArgumentError.

    Raises:
        ValueError: If the static shape is known to be another one.
    """
    wanted = as_shape(shape)

    def infer(tensor: Tensor) -> Any:
        return [(tensor.dtype.base_dtype, merge_shapes(wanted, tensor.shape))]

    def kernel(array: Array) -> Any:
        if not wanted.is_compatible_with(TensorShape(array.shape)):
            fail(
                f"Shape of tensor {bracketed(array.shape)} is not compatible with expected shape "
                f"{bracketed(wanted)}."
            )
        return array

    attrs = {"shape": wanted}
    op = apply_op("EnsureShape", [Input("input", x)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Returns a tensor with a new axis of size 1.

    Args:
        input: The tensor.
        axis: Where the new axis will be; -1 for the end.
        name: Name of the operation.
        dim: Old name of `axis`.

    Raises:
        ValueError: If neither or both of `axis` and `dim` are given, or there is no such place.
    """
    axis = only_one("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    inputs = [
        Input("input", input),
        Input("dim", axis, var="Tdim", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]

    def kernel(x: Array, place: Array) -> Any:
        if place.size != 1:
            fail("'dim' must be a tensor with a single value")
        index = int(place.item())
        if not -x.ndim - 1 <= index <= x.ndim:
            fail(f"Tried to expand dim index {index} for tensor with {x.ndim} dimensions.")
        return np.expand_dims(x, index)

    return apply_op("ExpandDims", inputs, _infer_expand, name=name, kernel=kernel).outputs[0]


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Returns a tensor without axes of size 1.

    Args:
        input: The tensor.
        axis: An axis or a list of axes to remove; None for all of size 1.
        name: Name of the operation.
        squeeze_dims: Old name of `axis`.

    Raises:
        ValueError: If there is no such axis or its size is known not to be 1.
    """
    axis = only_one("axis", axis, "squeeze_dims", squeeze_dims)
    try:
        axes = [] if axis is None else [int(a) for a in np.ravel(axis)]
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'axis' not {axis!r}.") from None

    def infer(tensor: Tensor) -> Any:
        return [(tensor.dtype.base_dtype, _squeezed(tensor.shape, axes))]

    def kernel(x: Array) -> Any:
        for axis in axes:
            if not -x.ndim <= axis < x.ndim:
                fail(f"Tried to squeeze dim index {axis} for tensor with {x.ndim} dimensions.")
        try:
            return x.reshape(_squeezed(TensorShape(x.shape), axes).as_list())
        except ShapeConflict as conflict:
            fail(str(conflict))

    attrs = {"squeeze_dims": axes}
    op = apply_op("Squeeze", [Input("input", input)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Returns a tensor with its axes in another order.

    Args:
        a: The tensor.
        perm: For each new axis, the old one; None reverses them.
        name: Name of the operation.
        conjugate: Whether complex elements become their conjugates.

    Raises:
        ValueError: If `perm` has the wrong length or names no axis.
    """
    with name_scope(name, "transpose", [a]) as scope:
        if perm is None:
            a = convert_to_tensor(a, name="a")
            rank = a.shape.rank
            perm = np.arange(rank - 1, -1, -1) if rank else _reversed_axes(a)
        inputs = [
            Input("x", a),
            Input("perm", perm, var="Tperm", allowed=_INDEX_TYPES, default=dtypes.int32),
        ]

        def kernel(x: Array, order: Array) -> Any:
            axes = order.tolist()
            _check_permutation(axes, x.ndim)
            moved = np.transpose(x, axes)
            return np.conj(moved) if conjugate else moved

        op_type = "ConjugateTranspose" if conjugate else "Transpose"
        return apply_op(op_type, inputs, _infer_transpose, name=scope, kernel=kernel).outputs[0]


def _infer_reshape(tensor: Tensor, shape: Tensor) -> Any:
    check_rank(shape.shape, 1)
    wanted = constant_value_as_shape(shape)
    return [(tensor.dtype.base_dtype, _complete(tensor.shape, wanted))]


def _complete(old: TensorShape, new: TensorShape) -> TensorShape:
    """Computes the one unknown size of a new shape, where the old one tells it."""
    total = old.num_elements()
    if total is None or new.rank is None:
        return new
    sizes = new.as_list()
    known = math.prod(size for size in sizes if size is not None)
    missing = sizes.count(None)
    if missing == 0 and known != total:
        raise ShapeConflict(
            f"Cannot reshape a tensor with {total} elements to shape {bracketed(new)} "
            f"({known} elements)"
        )
    if missing == 1 and known:
        if total % known:
            raise ShapeConflict(
                f"Dimension size must be evenly divisible by {known} but is {total}"
            )
        return TensorShape([total // known if size is None else size for size in sizes])
    return new


def _place_error(place: int, rank: int) -> str:
    return f"dim {place} not in the interval [{-rank - 1}, {rank}]."


def _infer_expand(tensor: Tensor, place: Tensor) -> Any:
    if place.shape.num_elements() not in (None, 1):
        raise ShapeConflict("'dim' input must be a tensor with a single value")
    index, rank = fold_scalar(place), tensor.shape.rank
    if rank is None or index is None:
        return [(tensor.dtype.base_dtype, unknown_shape())]
    if not -rank - 1 <= index <= rank:
        raise ShapeConflict(_place_error(index, rank))
    sizes = tensor.shape.as_list()
    sizes.insert(index % (rank + 1), 1)
    return [(tensor.dtype.base_dtype, TensorShape(sizes))]


def _squeezed(shape: TensorShape, axes: list[int]) -> TensorShape:
    rank = shape.rank
    if rank is None:
        return unknown_shape()
    for place, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ShapeConflict(f"squeeze_dims[{place}] not in [{-rank},{rank}).")
    removed = {axis % rank for axis in axes}
    sizes = shape.as_list()
    if not axes:
        if None in sizes:
            return unknown_shape()
        return TensorShape([size for size in sizes if size != 1])
    for axis in sorted(removed):
        if sizes[axis] not in (None, 1):
            raise ShapeConflict(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {sizes[axis]}"
            )
    return TensorShape([size for axis, size in enumerate(sizes) if axis not in removed])


def _reversed_axes(tensor: Tensor) -> Tensor:
    op = apply_op(
        "Rank",
        [Input("input", tensor)],
        lambda _: [(dtypes.int32, TensorShape([]))],
        kernel=lambda x: x.ndim,
    )
    rank = op.outputs[0]
    return (rank - 1) - range_of(0, rank, 1, name="Range")


def _check_permutation(axes: list[int], rank: int) -> None:
    if len(axes) != rank:
        fail(
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{len(axes)}"
        )
    for axis in axes:
        if not 0 <= axis < rank:
            fail(f"{axis} is out of range [0 .. {rank})")
    for axis in range(rank):
        if axis not in axes:
            fail(f"{axis} is missing from {{{','.join(map(str, axes))}}}.")


def _infer_transpose(tensor: Tensor, perm: Tensor) -> Any:
    check_rank(perm.shape, 1)
    rank = tensor.shape.rank
    length = perm.shape[0].value
    if rank is None:
        return [(tensor.dtype.base_dtype, unknown_shape(length))]
    if length not in (None, rank):
        raise ShapeConflict(f"Dimension must be {rank} but is {length}")
    order = fold(perm)
    if order is None:
        return [(tensor.dtype.base_dtype, unknown_shape(rank))]
    sizes: list[Any] = tensor.shape.as_list()
    for axis in order.tolist():
        if not -rank <= axis < rank:
            raise ShapeConflict(f"perm dim {axis} is out of range of input rank {rank}")
    return [(tensor.dtype.base_dtype, TensorShape([sizes[axis] for axis in order.tolist()]))]
