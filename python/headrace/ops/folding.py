"""What is known of a tensor's value when the graph is built.

Static shapes depend on it: `tf.reshape(x, [2, n * 3])` has a known shape if `n` is a constant.
Each foldable operation type has a function here; modules of operations add theirs with
`register_folding`. Nothing random and nothing with state is ever folded.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.graph import Operation, Tensor
from headrace.ops.inference import ShapeConflict
from headrace.ops.kernel import Array, as_array
from headrace.shapes import TensorShape, unknown_shape

__all__ = [
    "constant_value",
    "constant_value_as_shape",
    "fold",
    "fold_scalar",
    "is_small",
    "register_folding",
]

# What is computed before a run is kept with the graph or the program: nothing larger is.
_MAX_FOLDED_BYTES: Final = 1 << 20

# op type -> (operation, values of the inputs) -> values of the outputs.
_folders: Final[dict[str, Callable[..., Any]]] = {}


def register_folding(op_type: str, function: Callable[..., Any] | None = None) -> None:
    """Lets operations of a type be computed when the graph is built.

    Args:
        op_type: The type. It must depend on nothing but its inputs and attributes.
        function: Called with the operation and one array an input; None for the operation's own
            NumPy kernel.
    """
    _folders[op_type] = function or _run_kernel


def is_small(tensor: Tensor) -> bool:
    """Says whether a tensor is known to be small enough to be computed before the run."""
    count = tensor.shape.num_elements()
    itemsize = np.dtype(tensor.dtype.as_numpy_dtype).itemsize
    return count is not None and count * itemsize <= _MAX_FOLDED_BYTES


def fold(tensor: Tensor) -> Array | None:
    """Returns the value of a tensor, or None if it is large or depends on what is not known yet."""
    return _Evaluation().value(tensor)


def fold_scalar(tensor: Tensor) -> Any:
    """Returns the value of a scalar tensor as a Python value, or None if it is not known."""
    value = fold(tensor)
    return None if value is None or value.size != 1 else value.item()


def constant_value(tensor: Tensor, partial: bool = False) -> Any:
    """Returns the value of a tensor that does not depend on what is fed or read.

    The caller may rely on the value, so the tensor can no longer be fed.

    Args:
        tensor: The tensor.
        partial: Whether a stack of which only some parts are known gives an object array with None
            for the others.

    Returns:
        An array, or None if the value is not known.

    Source:
        `tf.contrib.util.constant_value` of TensorFlow 1.15.
    """
    value = fold(tensor)
    if value is None and partial and tensor.op.type == "Pack":
        parts = [constant_value(item, partial) for item in tensor.op.inputs]
        value = np.array(parts, dtype=object)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Returns the shape that an integer vector will describe, as far as it is known.

    Args:
        tensor: An integer vector; -1 stands for an unknown size.

    Raises:
        ValueError: If the tensor is no vector, or a size is below -1.
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
    """What is known of the tensors that one tensor depends on. Each is looked at once."""

    def __init__(self) -> None:
        self._values: dict[Tensor, Array | None] = {}
        self._sizes: dict[Tensor, Any] = {}

    def value(self, tensor: Tensor) -> Array | None:
        """Returns the value of a tensor if it is fully known."""
        if tensor not in self._values:
            self._values[tensor] = None  # for the time of the look
            self._values[tensor] = self._find_value(tensor)
        return self._values[tensor]

    def sizes(self, tensor: Tensor) -> Any:
        """Returns an integer vector or scalar as Python values, None for what is not known."""
        if tensor not in self._sizes:
            value = self.value(tensor)
            self._sizes[tensor] = self._read_sizes(tensor) if value is None else value.tolist()
        return self._sizes[tensor]

    def _find_value(self, tensor: Tensor) -> Array | None:
        op = tensor.op
        if op.type == "Const":
            value: Array = op.attrs["value"]
            return value
        if op.type in _SHAPE_READERS:
            found = _SHAPE_READERS[op.type](op.inputs[0].shape)
            return None if found is None else _as_value(found, tensor)
        folder = _folders.get(op.type) if is_small(tensor) else None
        inputs = [] if folder is None else [self.value(item) for item in op.inputs]
        if folder is None or any(item is None for item in inputs):
            sizes = self._read_sizes(tensor)
            is_known = sizes is not None and not (isinstance(sizes, list) and None in sizes)
            return _as_value(sizes, tensor) if is_known else None
        return _compute(tensor, folder, inputs)

    def _read_sizes(self, tensor: Tensor) -> Any:
        reader = _SIZE_READERS.get(tensor.op.type)
        return None if reader is None else reader(self, tensor.op)


def _as_value(found: Any, tensor: Tensor) -> Array:
    return np.asarray(found, dtype=tensor.dtype.as_numpy_dtype)


def _compute(tensor: Tensor, folder: Callable[..., Any], inputs: list[Any]) -> Array | None:
    try:
        with np.errstate(all="ignore"):
            outputs = folder(tensor.op, *inputs)
    except Exception:  # A value that cannot be computed is reported when the graph is run.
        return None
    return as_array(outputs[tensor.value_index] if isinstance(outputs, tuple) else outputs)


def _sizes_of_shape(known: _Evaluation, op: Operation) -> Any:
    shape = op.inputs[0].shape
    return None if shape.rank is None else shape.as_list()


def _sizes_of_pack(known: _Evaluation, op: Operation) -> Any:
    is_vector = op.inputs[0].shape.rank == 0
    return [known.sizes(item) for item in op.inputs] if is_vector else None


def _sizes_of_concat(known: _Evaluation, op: Operation) -> Any:
    sizes: list[int | None] = []
    for item in op.inputs[:-1]:
        part = known.sizes(item)
        if not isinstance(part, list):
            length = item.shape[0].value if item.shape.rank == 1 else None
            if length is None:
                return None
            part = [None] * length
        sizes += part
    return sizes


def _sizes_of_slice(known: _Evaluation, op: Operation) -> Any:
    sizes = known.sizes(op.inputs[0])
    bounds = [known.value(item) for item in op.inputs[1:]]
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


def _run_kernel(op: Operation, *inputs: Array) -> Any:
    if op.kernel is None:
        raise LookupError(f"operation '{op.name}' of type {op.type} has no NumPy kernel")
    return op.kernel(*inputs)


# Operations that read only the static shape of their input.
_SHAPE_READERS: Final[dict[str, Callable[[TensorShape], Any]]] = {
    "Shape": lambda shape: shape.as_list() if shape.is_fully_defined() else None,
    "Size": lambda shape: shape.num_elements(),
    "Rank": lambda shape: shape.rank,
}

# Operations that pass on sizes of which only some are known.
_SIZE_READERS: Final[dict[str, Callable[[_Evaluation, Operation], Any]]] = {
    "Shape": _sizes_of_shape,
    "Pack": _sizes_of_pack,
    "ConcatV2": _sizes_of_concat,
    "StridedSlice": _sizes_of_slice,
    "Cast": lambda known, op: known.sizes(op.inputs[0]),
    "Identity": lambda known, op: known.sizes(op.inputs[0]),
}

for _op_type in ("Pack", "ConcatV2", "StridedSlice", "Range", "Fill"):
    register_folding(_op_type)
register_folding("Identity", lambda op, x: x)
register_folding("Reshape", lambda op, x, shape: x.reshape(shape))
register_folding("Cast", lambda op, x: x.astype(op.attrs["DstT"].as_numpy_dtype))
