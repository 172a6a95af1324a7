"""Broadcasting: repeats axes of size 1 to match another shape.

Source: `tf.broadcast_to` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, as_shape, bracketed, vector
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold_by_kernel
from headrace.ops.framework.inference import ShapeConflict, broadcast_shapes, check_rank
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to"]


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Returns the static shape of an elementwise operation on two tensors.

    Args:
        shape_x: The static shape of one tensor.
        shape_y: The static shape of the other tensor.

    Raises:
        ValueError: If two sizes differ and neither is 1.
    """
    x, y = as_shape(shape_x), as_shape(shape_y)
    try:
        return broadcast_shapes(x, y)
    except ShapeConflict:
        raise ValueError(
            f"Incompatible shapes for broadcasting: {x} and {y}. Sizes must be equal, or one "
            "of them must be 1."
        ) from None


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Returns the shape of an elementwise operation on two tensors, as a tensor.

    Args:
        shape_x: The shape of one tensor, an integer vector.
        shape_y: The shape of the other tensor, an integer vector of the same type.

    Returns:
        An integer vector.

    Raises:
        InvalidArgumentError: At run time, if the shapes are incompatible.
    """

    def infer(x: Tensor, y: Tensor) -> Outputs:
        check_rank(x.shape, 1)
        check_rank(y.shape, 1)
        lengths = [tensor.shape.with_rank(1)[0].value for tensor in (x, y)]
        present = [length for length in lengths if length is not None]
        return [(x.dtype.base_dtype, vector(max(present) if len(present) == 2 else None))]

    inputs = [
        Input("s0", convert_to_tensor(shape_x), var="T", allowed=INDEX_TYPES),
        Input("s1", convert_to_tensor(shape_y), var="T", allowed=INDEX_TYPES),
    ]
    return apply_op("BroadcastArgs", inputs, infer, kernel=_broadcast_sizes).outputs[0]


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Repeats a tensor along new leading axes and along axes of size 1.

    Args:
        input: The tensor.
        shape: The new shape, an integer vector.
        name: Name of the operation.

    Raises:
        ValueError: If the static shapes are incompatible.

    Examples:
        >>> repeat = hr.native(lambda example: {"y": hr.ops.broadcast_to(example["x"], [2, 3])})
        >>> repeat({"x": np.array([1, 2, 3])})
        {'y': array([[1, 2, 3],
               [1, 2, 3]])}
    """
    inputs = [
        Input("input", input),
        Input("shape", shape, var="Tidx", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    return apply_op("BroadcastTo", inputs, _infer_broadcast, name=name, kernel=_broadcast).outputs[
        0
    ]


def _broadcast_sizes(x: Array, y: Array) -> Array:
    try:
        return np.array(np.broadcast_shapes(tuple(x), tuple(y)), dtype=x.dtype)
    except ValueError:
        fail(f"Incompatible shapes: {bracketed(x.tolist())} vs. {bracketed(y.tolist())}")


def _infer_broadcast(tensor: Tensor, target_shape: Tensor) -> Outputs:
    check_rank(target_shape.shape, 1)
    new, old = constant_value_as_shape(target_shape), tensor.shape
    if new.rank is not None and old.rank is not None:
        if old.rank > new.rank:
            raise ShapeConflict(f"Shape must be at most rank {new.rank} but is rank {old.rank}")
        sizes = new.as_list()
        for axis, size in enumerate(old.as_list(), start=new.rank - old.rank):
            if size is not None and size > 1:
                if sizes[axis] not in (None, size):
                    raise ShapeConflict(
                        f"Dimensions must be equal, but are {size} and {sizes[axis]}"
                    )
                sizes[axis] = size
        new = TensorShape(sizes)
    return [(tensor.dtype.base_dtype, new)]


def _broadcast(x: Array, target_shape: Array) -> Array:
    shape = tuple(target_shape.tolist())
    for size in shape:
        if size < 0:
            fail(f"Dimension {size} must be >= 0")
    check_array(shape, x.dtype)
    try:
        common = np.broadcast_shapes(x.shape, shape)
    except ValueError:
        fail(f"Incompatible shapes: {bracketed(x.shape)} vs. {bracketed(shape)}")
    if common != shape:
        fail(
            f"Unable to broadcast tensor of shape {bracketed(x.shape)} to tensor of shape "
            f"{bracketed(shape)}"
        )
    return np.broadcast_to(x, shape).copy()


define("BroadcastArgs", fold=fold_by_kernel)
define("BroadcastTo", computed=by_either)
