"""Operations that change rows or slices of a variable.

Source: `tf.scatter_update`, `tf.scatter_nd_update` and similar functions in TensorFlow 1.15. Here,
a run with an out-of-range index changes nothing.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.graph import SupportsTensor, Tensor, TensorLike, define
from headrace.ops.array.fill import ones_like
from headrace.ops.array.join import concat
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.scatter import check_shapes
from headrace.ops.array.shape import shape
from headrace.ops.framework.arguments import Input, Outputs
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, merge_shapes
from headrace.ops.math.cast import cast
from headrace.tf1.ops.variables.assign import apply_to_variable

__all__ = [
    "batch_scatter_update",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
]

_Ref = Tensor | SupportsTensor

_NUMBERS = [
    *(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8),
    *(dtypes.int64, dtypes.uint16, dtypes.float16, dtypes.uint32, dtypes.uint64),
]

# The dtypes of operations that keep the smaller or the larger value.
_ORDERED = [dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64]


def scatter_update(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that replaces rows of a variable.

    Args:
        ref: The variable.
        indices: The row indices, integers of any shape. If an index is repeated, the last row is
            used.
        updates: The rows, or a scalar. Their shape is the shape of `indices`, followed by the shape
            of a row.
        use_locking: Accepted for compatibility, but not used, because updates never overlap.
        name: Name of the operation.

    Returns:
        The variable's new value, as a tensor that represents the variable.

    Raises:
        FailedPreconditionError: At run time, if the variable has no value.
        InvalidArgumentError: At run time, if a row does not exist, or the shapes do not match.
        TypeError: If `ref` is not a variable, or a type does not match.
        ValueError: If the static shapes do not match.
    """
    return _scatter("ScatterUpdate", ref, indices, updates, use_locking, name)


def scatter_add(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Adds to rows like `scatter_update`, except that a repeated index adds repeatedly."""
    return _scatter("ScatterAdd", ref, indices, updates, use_locking, name, _NUMBERS)


def scatter_sub(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Subtracts from rows; otherwise like `scatter_add`."""
    return _scatter("ScatterSub", ref, indices, updates, use_locking, name, _NUMBERS)


def scatter_mul(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies rows; otherwise like `scatter_add`."""
    return _scatter("ScatterMul", ref, indices, updates, use_locking, name, _NUMBERS)


def scatter_div(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Divides rows; otherwise like `scatter_add`. Integer results are rounded towards 0.

    Dividing an integer by 0 ends the run with InvalidArgumentError. In TensorFlow, this crashes the
    process.
    """
    return _scatter("ScatterDiv", ref, indices, updates, use_locking, name, _NUMBERS)


def scatter_min(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Sets elements to the smaller of the old and the new value; see `scatter_add`."""
    return _scatter("ScatterMin", ref, indices, updates, use_locking, name, _ORDERED)


def scatter_max(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Sets elements to the larger of the old and the new value; see `scatter_add`."""
    return _scatter("ScatterMax", ref, indices, updates, use_locking, name, _ORDERED)


def scatter_nd_update(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that replaces slices of a variable.

    Args:
        ref: The variable.
        indices: The positions of the slices: index tuples along the last axis.
        updates: The slices, one per tuple.
        use_locking: Accepted for compatibility, but not used.
        name: Name of the operation.

    Returns:
        The variable's new value, as a tensor that represents the variable.

    Raises:
        FailedPreconditionError: At run time, if the variable has no value.
        InvalidArgumentError: At run time, if an index is out of range, or the shapes do not match.
        TypeError: If `ref` is not a variable, or a type does not match.
        ValueError: If `indices` or `updates` is a scalar.
    """
    return _scatter("ScatterNdUpdate", ref, indices, updates, use_locking, name, is_nd=True)


def scatter_nd_add(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Adds to slices; otherwise like `scatter_nd_update`."""
    return _scatter("ScatterNdAdd", ref, indices, updates, use_locking, name, _NUMBERS, is_nd=True)


def scatter_nd_sub(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Subtracts from slices; otherwise like `scatter_nd_update`."""
    return _scatter("ScatterNdSub", ref, indices, updates, use_locking, name, _NUMBERS, is_nd=True)


def batch_scatter_update(
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Adds operations that replace slices in each row of a variable.

    Args:
        ref: The variable.
        indices: The slice indices, with the leading axes of the variable and one axis for the
            slices.
        updates: The slices. Their shape is the shape of `indices`, followed by the shape of a
            slice.
        use_locking: Accepted for compatibility, but not used.
        name: Name of the scope.

    Returns:
        The variable's new value, as a tensor that represents the variable.

    Raises:
        ValueError: If the rank of `indices` is unknown.
    """
    indices = convert_to_tensor(indices, name="indices")
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    sizes = shape(indices)
    last = expand_dims(indices, -1)
    columns = []
    for axis in range(rank - 1):
        broadcast = [1] * (rank + 1)
        broadcast[axis] = -1
        numbers = cast(reshape(range_of(sizes[axis]), broadcast), last.dtype.base_dtype)
        columns.append(numbers * ones_like(last))
    tuples = concat([*columns, last], -1)
    return scatter_nd_update(ref, tuples, updates, use_locking, name)


def _scatter(
    op_type: str,
    ref: _Ref,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool,
    name: str | None,
    allowed: list[DType] | None = None,
    is_nd: bool = False,
) -> Tensor:
    def infer(target: Tensor, indices: Tensor, variable: Tensor) -> Outputs:
        if is_nd:
            for tensor in (indices, variable):
                if tensor.shape.rank == 0:
                    raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
            # Before a run, TensorFlow does not detect indices with too many numbers.
            depth = indices.shape[-1].value if indices.shape.rank else None
            if depth is None or target.shape.rank is None or depth <= target.shape.rank:
                check_shapes(target.shape, indices.shape, variable.shape)
        elif variable.shape.rank != 0:
            merge_shapes(variable.shape, indices.shape.concatenate(target.shape[1:]))
        return [(target.dtype, target.shape)]

    inputs = [
        Input("indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("updates", updates),
    ]
    attrs = {"use_locking": bool(use_locking)}
    return apply_to_variable(op_type, ref, inputs, infer, attrs, name, allowed)


define("ScatterAdd", is_stateful=True, takes_variable=True)
define("ScatterDiv", is_stateful=True, takes_variable=True)
define("ScatterMax", is_stateful=True, takes_variable=True)
define("ScatterMin", is_stateful=True, takes_variable=True)
define("ScatterMul", is_stateful=True, takes_variable=True)
define("ScatterNdAdd", is_stateful=True, takes_variable=True)
define("ScatterNdSub", is_stateful=True, takes_variable=True)
define("ScatterNdUpdate", is_stateful=True, takes_variable=True)
define("ScatterSub", is_stateful=True, takes_variable=True)
define("ScatterUpdate", is_stateful=True, takes_variable=True)
