"""Parts of a tensor: `tf.slice`, `tf.strided_slice` and `tensor[...]`.

Source: `tf.Tensor.__getitem__` in TensorFlow 1.15.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, cast

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import Dimension, TensorShape, unknown_shape
from headrace.graph import (
    IndexLike,
    IndexPart,
    Operation,
    StaticValues,
    Tensor,
    TensorLike,
    define,
    name_scope,
)
from headrace.ops.array.fill import ones_like
from headrace.ops.array.gather import boolean_mask
from headrace.ops.array.join import stack
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import (
    BlockInput,
    integers,
    known_integers,
    made_again,
    made_with_integers,
)
from headrace.ops.framework.conversion import constant, constant_value_as_shape
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold, fold_by_kernel
from headrace.ops.framework.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, by_either, fail
from headrace.ops.framework.primitives import cast_tensor

__all__ = ["newaxis", "slice", "strided_slice"]

newaxis: Final = None


def slice(
    input: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a part of a tensor, given its start and size.

    Args:
        input: The tensor.
        begin: The start of the part, an integer vector with one entry per axis.
        size: The size of the part along each axis. -1 means all remaining elements.
        name: Name of the operation.

    Raises:
        ValueError: If a vector does not have one entry per axis.
    """
    inputs = [
        Input("input", input),
        Input("begin", begin, var="Index", allowed=INDEX_TYPES),
        Input("size", size, var="Index", allowed=INDEX_TYPES),
    ]
    return apply_op("Slice", inputs, _infer_slice, name=name, kernel=_slice).outputs[0]


def strided_slice(
    input: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Returns `input[begin:end:strides, ...]`, as in Python.

    In most cases, write `input[...]` instead.

    Args:
        input: The tensor.
        begin: The start of the part, an integer vector with one entry per index.
        end: The end of the part.
        strides: The steps. Defaults to 1.
        begin_mask: If bit i is set, index i starts at the first element.
        end_mask: If bit i is set, index i ends after the last element.
        ellipsis_mask: If bit i is set, index i is `...`.
        new_axis_mask: If bit i is set, index i adds an axis.
        shrink_axis_mask: If bit i is set, index i is an int, and its axis is removed.
        name: Name of the operation.

    Raises:
        ValueError: If an index is out of bounds, or there are too many indices.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    return _stride(input, [begin, end, strides], masks, name)


def _stride(
    tensor: TensorLike, parts: Sequence[TensorLike], masks: dict[str, int], name: str | None
) -> Tensor:
    inputs = [Input("input", tensor)]
    for part, value in zip(("begin", "end", "strides"), parts, strict=True):
        inputs.append(Input(part, value, var="Index", allowed=INDEX_TYPES))

    def infer(tensor: Tensor, *bounds: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, _infer_strided(tensor.shape, bounds, masks))]

    def kernel(x: Array, *bounds: Array) -> Any:
        try:
            return x[_numpy_index(x.shape, [bound.tolist() for bound in bounds], masks)]
        except ShapeConflict as conflict:
            fail(str(conflict))

    op = apply_op("StridedSlice", inputs, infer, name=name, attrs=dict(masks), kernel=kernel)
    return op.outputs[0]


def get_item(tensor: Tensor, key: IndexLike) -> Tensor:
    """Returns `tensor[key]`.

    Args:
        tensor: The tensor.
        key: An int, a slice, `...`, `tf.newaxis`, an integer scalar tensor, or a tuple of these.
            The key can also be a bool mask; see `boolean_mask`.

    Raises:
        TypeError: If a part of the key has any other type.
        ValueError: If an index is out of bounds, or there are too many indices.
    """
    if isinstance(key, bool) or _dtype_of(key) == dtypes.bool:
        return boolean_mask(tensor, cast("TensorLike", key))
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(_MASKS, 0)
    for position, part in enumerate(key if isinstance(key, (list, tuple)) else [key]):
        first, last, step, kinds = _parse_part(part)
        begin.append(first)
        end.append(last)
        strides.append(step)
        for kind in kinds:
            masks[kind] |= 1 << position
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as scope:
        if begin:
            bounds = [stack(begin), stack(end), stack(strides)]
            if any(bound.dtype == dtypes.int64 for bound in bounds):
                bounds = [_as_int64(bound) for bound in bounds]
        else:
            bounds = [constant([], dtype=dtypes.int32)] * 3
        return _stride(tensor, bounds, masks, scope)


_MASKS: Final = (
    "begin_mask",
    "end_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "shrink_axis_mask",
)


def _parse_part(part: IndexPart) -> tuple[Any, Any, Any, list[str]]:
    """Returns the begin, end and step of one part of a key, and the mask bits that it sets."""
    if isinstance(part, builtins.slice):
        kinds = []
        bounds = []
        for value, kind in ((part.start, "begin_mask"), (part.stop, "end_mask")):
            is_open = value is None or (isinstance(value, int) and value == sys.maxsize)
            bounds.append(0 if is_open else _checked(value))
            kinds += [kind] if is_open else []
        step = 1 if part.step is None else _checked(part.step)
        return bounds[0], bounds[1], step, kinds
    if part is Ellipsis:
        return 0, 0, 1, ["ellipsis_mask"]
    if part is newaxis:
        return 0, 0, 1, ["new_axis_mask"]
    first = _checked(part)
    return first, first + 1, 1, ["shrink_axis_mask"]


def _checked(index: object) -> Any:
    if isinstance(index, (int, Dimension)):
        return index
    dtype, shape = _dtype_of(index), getattr(index, "shape", None)
    if dtype not in INDEX_TYPES or (shape and len(shape) == 1):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {index!r}"
        )
    return index


def _dtype_of(value: object) -> DType | None:
    dtype = getattr(value, "dtype", None)
    try:
        return None if dtype is None else as_dtype(dtype).base_dtype
    except TypeError:
        return None


def _as_int64(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == dtypes.int64 else cast_tensor(tensor, dtypes.int64)


Kind = Literal["keep", "new", "shrink", "slice"]


def _plan(count: int, rank: int, masks: dict[str, int]) -> Iterator[tuple[Kind, int, int]]:
    """Yields each result axis as its kind, the number of its index and its input axis.

    Raises:
        ShapeConflict: If there are too many indices, or more than one ellipsis.
    """

    def has(mask: str, position: int) -> bool:
        return bool(masks[mask] & 1 << position)

    ellipses = [position for position in range(count) if has("ellipsis_mask", position)]
    if len(ellipses) > 1:
        raise ShapeConflict("Multiple ellipses in slice spec not allowed")
    new = sum(
        has("new_axis_mask", position) for position in range(count) if position not in ellipses
    )
    used = count - new - len(ellipses)
    if used > rank:
        raise ShapeConflict(
            f"Index out of range using input dim {rank}; input has only {rank} dims"
        )
    axis = 0
    for position in range(count):
        if position in ellipses:
            for _ in range(rank - used):
                yield "keep", position, axis
                axis += 1
        elif has("new_axis_mask", position):
            yield "new", position, axis
        else:
            yield "shrink" if has("shrink_axis_mask", position) else "slice", position, axis
            axis += 1
    for rest in range(axis, rank):
        yield "keep", count, rest


def _numpy_index(
    shape: Sequence[int], bounds: Sequence[list[int]], masks: dict[str, int]
) -> tuple[Any, ...]:
    begin, end, strides = bounds
    index: list[Any] = []
    for kind, position, axis in _plan(len(begin), len(shape), masks):
        if kind == "new":
            index.append(None)
        elif kind == "keep":
            index.append(builtins.slice(None))
        elif kind == "shrink":
            index.append(_check_bounds(begin[position], shape[axis], axis))
        else:
            index.append(
                _python_slice(begin[position], end[position], strides[position], position, masks)
            )
    return tuple(index)


def _check_bounds(index: int, size: int, axis: int) -> int:
    if not -size <= index < size:
        shown = index + size if index < 0 else index
        raise ShapeConflict(f"slice index {shown} of dimension {axis} out of bounds.")
    return index


def _python_slice(
    begin: int | None, end: int | None, stride: int, position: int, masks: dict[str, int]
) -> builtins.slice:
    if stride == 0:
        raise ShapeConflict(f"strides[{position}] must be non-zero")
    return builtins.slice(
        None if masks["begin_mask"] & 1 << position else begin,
        None if masks["end_mask"] & 1 << position else end,
        stride,
    )


def _infer_strided(
    shape: TensorShape, bounds: Sequence[Tensor], masks: dict[str, int]
) -> TensorShape:
    merged = unknown_shape(1)
    for bound in bounds:
        check_rank(bound.shape, 1)
        merged = merge_shapes(merged, bound.shape)
    count = merged[0].value
    if shape.rank is None or count is None or fold(bounds[2]) is None:
        return unknown_shape()
    begin, end, strides = (_known_entries(bound, count) for bound in bounds)
    sizes: list[Any] = []
    for kind, position, axis in _plan(count, shape.rank, masks):
        size = shape[axis].value if axis < shape.rank else None
        if kind == "new":
            sizes.append(1)
        elif kind == "keep":
            sizes.append(size)
        elif kind == "shrink":
            if size is not None and begin[position] is not None:
                _check_bounds(begin[position], size, axis)
        else:
            sizes.append(
                _sliced_size(
                    size, begin[position], end[position], strides[position], position, masks
                )
            )
    return TensorShape(sizes)


def _known_entries(tensor: Tensor, count: int) -> list[Any]:
    value = fold(tensor)
    if value is not None:
        return list(value.tolist())
    if tensor.op.definition.is_stack:
        parts = [fold(item) for item in tensor.op.inputs]
        return [None if part is None else part.item() for part in parts]
    return [None] * count


def _sliced_size(
    size: int | None,
    begin: int | None,
    end: int | None,
    stride: int,
    position: int,
    masks: dict[str, int],
) -> int | None:
    part = _python_slice(begin, end, stride, position, masks)
    is_open = [bool(masks[mask] & 1 << position) for mask in ("begin_mask", "end_mask")]
    is_static = (begin is not None or is_open[0]) and (end is not None or is_open[1])
    return len(range(size)[part]) if size is not None and is_static else None


def _infer_slice(tensor: Tensor, begin: Tensor, size: Tensor) -> Outputs:
    dtype, shape = tensor.dtype.base_dtype, tensor.shape
    check_rank(begin.shape, 1)
    check_rank(size.shape, 1)
    rank = merge_shapes(begin.shape, size.shape).with_rank(1)[0].value
    if rank is not None:
        check_rank(shape, rank)
    static = constant_value_as_shape(size)
    firsts, lengths = fold(begin), fold(size)
    if lengths is None or rank is None:
        return [(dtype, static if static.rank is not None else unknown_shape(rank or shape.rank))]
    sizes: list[Any] = []
    for axis, length in enumerate(lengths.tolist()):
        left = None if shape.rank is None else shape[axis].value
        if length >= 0:
            sizes.append(length)
        else:
            sizes.append(None if left is None or firsts is None else left - int(firsts[axis]))
            if sizes[-1] is not None and sizes[-1] < 0:
                raise ShapeConflict(
                    f"Negative dimension size caused by subtracting {firsts[axis]} from {left}"  # type: ignore[index]
                )
    return [(dtype, TensorShape(sizes))]


def _slice(x: Array, begin: Array, size: Array) -> Array:
    if not begin.size == size.size == x.ndim:
        fail(
            f"Expected begin and size arguments to be 1-D tensors of size {x.ndim}, but got "
            f"shapes [{begin.size}] and [{size.size}] instead."
        )
    index = []
    bounds = zip(begin.tolist(), size.tolist(), x.shape, strict=True)
    for axis, (first, length, available) in enumerate(bounds):
        if not 0 <= first <= available:
            fail(f"Expected begin[{axis}] in [0, {available}], but got {first}")
        taken = available - first if length == -1 else length
        if not 0 <= taken <= available - first:
            fail(f"Expected size[{axis}] in [0, {available - first}], but got {length}")
        index.append(builtins.slice(first, first + taken))
    return x[tuple(index)]


def _sizes_of_slice(static: StaticValues, op: Operation) -> Any:
    sizes = static.sizes(op.inputs[0])
    bounds = [static.value(item) for item in op.inputs[1:]]
    is_simple = not (op.attrs["new_axis_mask"] or op.attrs["ellipsis_mask"])
    if not is_simple or not isinstance(sizes, list):
        return None
    if any(item is None or item.size != 1 for item in bounds):
        return None
    begin, end, stride = (int(item.item()) for item in bounds if item is not None)
    if op.attrs["shrink_axis_mask"]:
        return sizes[begin] if -len(sizes) <= begin < len(sizes) else None
    first = None if op.attrs["begin_mask"] else begin
    last = None if op.attrs["end_mask"] else end
    return sizes[first:last:stride]


def _slice_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, begin, size = inputs
    first, length = known_integers(begin.row), known_integers(size.row)
    if first is None or length is None:
        return None
    return made_with_integers(op, block, [(begin.row, [0, *first]), (size.row, [-1, *length])])


def _stride_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, *bounds = inputs
    values = [known_integers(bound.row) for bound in bounds]
    if None in values:
        return None
    masks = {mask: op.attrs[mask] << 1 for mask in _MASKS}
    masks |= {mask: masks[mask] | 1 for mask in ("begin_mask", "end_mask")}
    begin, end, strides = (
        integers([first, *(value or [])], bound.row.dtype)
        for first, value, bound in zip((0, 0, 1), values, bounds, strict=True)
    )
    return made_again(op, [block.block, begin, end, strides], masks)


define("Slice", computed=by_either, batch_rule=_slice_blocks)
define(
    "StridedSlice",
    computed=by_either,
    fold=fold_by_kernel,
    read_sizes=_sizes_of_slice,
    batch_rule=_stride_blocks,
)
