"""Operations that accept only tensors and arrays, as a basis for converting other values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, bracketed, describe_conflict, unknown_shape
from headrace.graph import (
    Operation,
    Role,
    StaticValues,
    Tensor,
    define,
    get_default_graph,
    graph_of,
)
from headrace.ops.framework.batching import BlockInput, elementwise, made_again, moved_axis
from headrace.ops.framework.folding import fold_by_kernel
from headrace.ops.framework.inference import ShapeConflict, check_axis
from headrace.ops.framework.kernel import Array, NumpyKernel, by_either, fail

__all__ = ["cast_tensor", "make_const", "pack_tensors", "stack_arrays", "stack_shapes"]


def make_const(array: Array, dtype: DType, name: str | None) -> Tensor:
    """Adds a constant to the default graph. The array must not change afterwards."""
    op = get_default_graph().create_op(
        "Const",
        [],
        [dtype],
        output_shapes=[TensorShape(array.shape)],
        name=name or "Const",
        attrs={"value": array, "dtype": dtype},
    )
    return op.outputs[0]


def cast_tensor(tensor: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """Adds a conversion of a tensor to another type."""
    is_complex = tensor.dtype.is_complex or dtype.is_complex  # Not supported by the engine.
    op = tensor.graph.create_op(
        "Cast",
        [tensor],
        [dtype],
        output_shapes=[tensor.shape],
        name=name,
        attrs={"SrcT": tensor.dtype.base_dtype, "DstT": dtype, "Truncate": False},
        kernel=NumpyKernel(_real_part(dtype), [dtype]) if is_complex else None,
    )
    return op.outputs[0]


def _real_part(target: DType) -> Callable[[Array], Array]:
    """Returns a function that prepares complex numbers for NumPy's conversion."""
    return (lambda x: x) if target.is_complex or target.is_bool else (lambda x: x.real)


def pack_tensors(tensors: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Stacks tensors of the same dtype along a new axis.

    Raises:
        ValueError: If the shapes are not compatible, or the axis does not exist.
    """
    shape = stack_shapes([tensor.shape for tensor in tensors], axis)
    dtype = tensors[0].dtype.base_dtype
    op = graph_of(tensors).create_op(
        "Pack",
        tensors,
        [dtype],
        output_shapes=[shape],
        name=name,
        attrs={"N": len(tensors), "T": dtype, "axis": axis},
        kernel=NumpyKernel(lambda *arrays: stack_arrays(arrays, axis), [dtype]),
    )
    return op.outputs[0]


def stack_shapes(shapes: Sequence[TensorShape], axis: int) -> TensorShape:
    """Returns the static shape of a stack.

    Raises:
        ShapeConflict: If the shapes differ, or the axis does not exist.
    """
    merged = unknown_shape()
    for index, shape in reversed(list(enumerate(shapes))):
        if not merged.is_compatible_with(shape):
            text = describe_conflict(shape, merged)
            raise ShapeConflict(f"{text}\n\tFrom merging shape {index} with other shapes.")
        merged = merged.merge_with(shape)
    if merged.rank is None:
        return merged
    dim = check_axis(axis, merged.rank + 1, f"axis = {axis} not in [{{low}}, {{rank}})")
    sizes = merged.as_list()
    sizes.insert(dim, len(shapes))
    return TensorShape(sizes)


def stack_arrays(arrays: Sequence[Array], axis: int) -> Array:
    """Stacks arrays of the same shape along a new axis."""
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            fail(
                f"Shapes of all inputs must match: values[0].shape = "
                f"{bracketed(arrays[0].shape)} != values[{index}].shape = {bracketed(array.shape)}"
            )
    return np.stack(arrays, axis)


def _sizes_of_pack(static: StaticValues, op: Operation) -> list[Any] | None:
    is_vector = op.inputs[0].shape.rank == 0
    return [static.sizes(item) for item in op.inputs] if is_vector else None


def _fold_cast(op: Operation, x: Array) -> Array:
    return x.astype(op.attrs["DstT"].as_numpy_dtype)


define("Const", role=Role.CONSTANT)
define(
    "Cast",
    fold=_fold_cast,
    read_sizes=lambda static, op: static.sizes(op.inputs[0]),
    batch_rule=elementwise,
)


def _pack_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    if not all(item.is_batched for item in inputs):
        return None
    return made_again(op, [item.block for item in inputs], {"axis": moved_axis(op.attrs["axis"])})


define(
    "Pack",
    is_stack=True,
    computed=by_either,
    fold=fold_by_kernel,
    read_sizes=_sizes_of_pack,
    batch_rule=_pack_blocks,
)
