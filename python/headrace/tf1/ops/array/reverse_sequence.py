"""Reverses variable-length sequences in a tensor.

Source: `tf.reverse_sequence` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["reverse_sequence"]


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int,
    batch_axis: int = 0,
    name: str | None = None,
) -> Tensor:
    """Reverses the first elements of each sequence, up to its length. Other elements do not move.

    Args:
        input: The sequences.
        seq_lengths: The number of elements to reverse in each sequence, an integer vector.
        seq_axis: The axis of the elements of a sequence.
        batch_axis: The axis of the sequences.
        name: Name of the operation.

    Returns:
        A tensor of the same shape.

    Raises:
        InvalidArgumentError: At run time, if a length is negative or too large.
        ValueError: If an axis does not exist, both are the same, or the shapes do not match.
    """

    def infer(tensor: Tensor, lengths: Tensor) -> Outputs:
        check_rank(lengths.shape, 1)
        shape = tensor.shape
        if shape.rank is not None:
            for what, axis in (("batch_dim", batch_axis), ("seq_dim", seq_axis)):
                if not 0 <= axis < shape.rank:
                    raise ShapeConflict(f"{what} must be < input rank: {axis} vs. {shape.rank}")
            size = lengths.shape.with_rank(1)[0]
            if not shape[batch_axis].is_compatible_with(size):
                raise ShapeConflict(
                    f"Dimensions must be equal, but are {shape[batch_axis]} and {size}"
                )
        return [(tensor.dtype.base_dtype, shape)]

    def kernel(tensor: Array, lengths: Array) -> Array:
        if seq_axis == batch_axis:
            fail(f"batch_dim == seq_dim == {seq_axis}")
        if not (seq_axis < tensor.ndim and batch_axis < tensor.ndim):
            fail(f"seq_dim and batch_dim must be < input rank: {tensor.ndim}")
        if lengths.ndim != 1 or len(lengths) != tensor.shape[batch_axis]:
            fail(
                f"Length of seq_lengths != input.dims({batch_axis}), ({lengths.size} vs. "
                f"{tensor.shape[batch_axis]})"
            )
        result = tensor.copy()
        moved, source = (
            array.swapaxes(0, batch_axis) if batch_axis else array for array in (result, tensor)
        )
        axis = batch_axis if seq_axis == 0 else seq_axis
        for row, length in enumerate(lengths.tolist()):
            if not 0 <= length <= tensor.shape[seq_axis]:
                fail(f"seq_lengths({row}) is {length}, not in [0, {tensor.shape[seq_axis]}]")
            rows = source[row].swapaxes(0, axis - 1)
            moved[row].swapaxes(0, axis - 1)[:length] = rows[:length][::-1]
        return result

    inputs = [
        Input("input", input),
        Input("seq_lengths", seq_lengths, var="Tlen", allowed=INDEX_TYPES),
    ]
    attrs = {"seq_dim": seq_axis, "batch_dim": batch_axis}
    op = apply_op("ReverseSequence", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


define("ReverseSequence")
