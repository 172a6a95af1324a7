"""Constant folding: finds the values of tensors that are known while the graph is built.

Static shapes depend on these values: `tf.reshape(x, [2, n * 3])` has a known shape if `n` is a
constant. An operation's definition contains its folding rules (`OpDef.fold`, `OpDef.read_sizes`).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Role, StaticValues, Tensor
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, as_array

__all__ = [
    "constant_value",
    "constant_value_as_shape",
    "fold",
    "fold_by_kernel",
    "fold_scalar",
    "is_small",
]

# Values computed before a run stay in memory as long as the graph or program. Larger values are
# computed during the run instead.
_MAX_FOLDED_BYTES: Final = 1 << 20


def is_small(tensor: Tensor) -> bool:
    """Returns whether a tensor is known to be small enough to be computed before the run."""
    count = tensor.shape.num_elements()
    itemsize = np.dtype(tensor.dtype.as_numpy_dtype).itemsize
    return count is not None and count * itemsize <= _MAX_FOLDED_BYTES


def fold(tensor: Tensor) -> Array | None:
    """Returns the value of a tensor, or None if it is large or is not known before the run."""
    return _Evaluation().value(tensor)


def fold_scalar(tensor: Tensor) -> Any:
    """Returns the value of a scalar tensor as a Python value, or None if it is not known."""
    value = fold(tensor)
    return None if value is None or value.size != 1 else value.item()


def constant_value(tensor: Tensor, partial: bool = False) -> Array | None:
    """Returns the value of a tensor that does not depend on fed values or on state.

    The caller may rely on the value, so the tensor can no longer be fed.

    Args:
        tensor: The tensor.
        partial: If True, the value of a stack with unknown parts is an object array with None for
            these parts.

    Returns:
        An array, or None if the value is not known.

    Source:
        `tf.contrib.util.constant_value` in TensorFlow 1.15.
    """
    value = fold(tensor)
    if value is None and partial and tensor.op.definition.is_stack:
        parts = [constant_value(item, partial) for item in tensor.op.inputs]
        value = np.array(parts, dtype=object)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Returns the known part of the shape that an integer vector describes.

    Args:
        tensor: An integer vector; -1 means an unknown size.

    Raises:
        ValueError: If the tensor is not a vector, or a size is below -1.
    """
    if tensor.shape.rank == 0:
        value = fold(tensor)
        if value is None or value != -1:
            raise ValueError(
                "Received a scalar with unknown value as shape; require a statically known "
                "scalar with value '-1' to describe an unknown shape."
            )
        return unknown_shape()
    tensor.shape.assert_has_rank(1)
    sizes = _Evaluation().sizes(tensor)
    if not isinstance(sizes, list):
        return unknown_shape(tensor.shape[0].value)
    wrong = next((size for size in sizes if size is not None and size < -1), None)
    if wrong is not None:
        raise ShapeConflict(f"Invalid value in tensor used for shape: {wrong}")
    return TensorShape([None if size == -1 else size for size in sizes])


class _Evaluation:
    """A search for constants among the tensors on which one tensor depends.

    It evaluates each tensor once.
    """

    def __init__(self) -> None:
        self._values: dict[Tensor, Array | None] = {}
        self._sizes: dict[Tensor, Any] = {}

    def value(self, tensor: Tensor) -> Array | None:
        """Returns the value of a tensor if it is fully known."""
        if tensor not in self._values:
            self._values[tensor] = None  # A placeholder for the value while it is being computed.
            self._values[tensor] = self._find_value(tensor)
        return self._values[tensor]

    def sizes(self, tensor: Tensor) -> Any:
        """Returns an integer vector or scalar as Python values, with None for unknown ones."""
        if tensor not in self._sizes:
            value = self.value(tensor)
            self._sizes[tensor] = self._read_sizes(tensor) if value is None else value.tolist()
        return self._sizes[tensor]

    def _find_value(self, tensor: Tensor) -> Array | None:
        op = tensor.op
        if op.definition.role is Role.CONSTANT:
            value: Array = op.attrs["value"]
            return value
        folder = op.definition.fold if is_small(tensor) else None
        inputs = [] if folder is None else [self.value(item) for item in op.inputs]
        if folder is None or any(item is None for item in inputs):
            sizes = self._read_sizes(tensor)
            is_known = sizes is not None and not (isinstance(sizes, list) and None in sizes)
            return _as_value(sizes, tensor) if is_known else None
        return _compute(tensor, folder, inputs)

    def _read_sizes(self, tensor: Tensor) -> Any:
        reader = tensor.op.definition.read_sizes
        return None if reader is None else reader(StaticValues(self.value, self.sizes), tensor.op)


def _as_value(sizes: int | list[int], tensor: Tensor) -> Array:
    return np.asarray(sizes, dtype=tensor.dtype.as_numpy_dtype)


def _compute(tensor: Tensor, folder: Callable[..., Any], inputs: list[Any]) -> Array | None:
    try:
        with np.errstate(all="ignore"):
            outputs = folder(tensor.op, *inputs)
    except Exception:  # If the value cannot be computed, the run reports it.
        return None
    return as_array(outputs[tensor.value_index] if isinstance(outputs, tuple) else outputs)


def fold_by_kernel(op: Operation, *inputs: Array) -> Any:
    """An `OpDef.fold` that computes an operation with its own NumPy kernel."""
    if op.kernel is None:
        raise LookupError(f"operation '{op.name}' of type {op.type} has no NumPy kernel")
    return op.kernel(*inputs)
