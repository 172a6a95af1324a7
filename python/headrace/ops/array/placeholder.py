"""Placeholders, which must be fed when the graph runs, and identities.

Source: `tf.placeholder`, `tf.identity` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import ShapeLike, TensorShape, as_shape
from headrace.graph import Tensor, TensorLike, define, get_default_graph
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.inference import like, merge_shapes
from headrace.ops.framework.kernel import Array, by_either
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["identity", "identity_n", "placeholder", "placeholder_with_default", "stop_gradient"]


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Creates a tensor whose value must be fed in each run.

    Args:
        dtype: Type of the elements.
        shape: The shape that the values must have, with None for each unknown size. If None, any
            shape is allowed.
        name: Name of the operation.

    Returns:
        The tensor.

    Raises:
        InvalidArgumentError: At run time, if the tensor is needed but not fed.
        TypeError: If the type does not exist.
        ValueError: If the shape is not valid.
    """
    if dtype is None:
        raise TypeError("Expected DataType for argument 'dtype' not None.")
    kind, static_shape = as_dtype(dtype), _as_shape_argument(shape)
    op = get_default_graph().create_op(
        "Placeholder",
        [],
        [kind],
        output_shapes=[static_shape],
        name=name,
        attrs={"dtype": kind, "shape": static_shape},
    )
    return op.outputs[0]


def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Creates a tensor with a default value, which a run can replace with a fed value.

    Args:
        input: The value if nothing is fed.
        shape: The shape that the values must have, with None for each unknown size. If None, any
            shape is allowed.
        name: Name of the operation.

    Raises:
        ValueError: If the shape of `input` contradicts `shape`.
    """
    static_shape = _as_shape_argument(shape)

    def infer(tensor: Tensor) -> Outputs:
        merge_shapes(tensor.shape, static_shape)
        return [(tensor.dtype.base_dtype, static_shape)]

    inputs = [Input("input", input, var="dtype")]
    attrs = {"shape": static_shape}
    return apply_op("PlaceholderWithDefault", inputs, infer, name=name, attrs=attrs).outputs[0]


def identity(input: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value as `input`, which may be dense or sparse."""
    if isinstance(input, SparseTensor):
        parts = (input.indices, input.values, input.dense_shape)
        return SparseTensor(*(identity(part, name) for part in parts))  # type: ignore[return-value]
    return apply_op("Identity", [Input("input", input)], like, name=name).outputs[0]


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """Returns tensors with the same values as the inputs, as outputs of a single operation.

    Raises:
        ValueError: If `input` is empty.
    """
    if not input:
        raise ValueError(
            "Attr 'T' of 'IdentityN' Op passed list of length 0 less than minimum 1. Pass at "
            "least one tensor."
        )

    def infer(*tensors: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, tensor.shape) for tensor in tensors]

    def kernel(*arrays: Array) -> Array | tuple[Array, ...]:
        return arrays if len(arrays) > 1 else arrays[0]

    inputs = [InputList("input", input, is_mixed=True)]
    return apply_op("IdentityN", inputs, infer, name=name, kernel=kernel).outputs


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value as `input`. headrace does not compute gradients."""
    inputs = [Input("input", input)]
    return apply_op("StopGradient", inputs, like, name=name, kernel=lambda x: x).outputs[0]


def _as_shape_argument(shape: ShapeLike) -> TensorShape:
    try:
        return as_shape(shape)
    except TypeError as error:
        raise TypeError(f"Error converting shape to a TensorShape: {error}") from None
    except ValueError as error:
        raise ValueError(f"Error converting shape to a TensorShape: {error}") from None


define(
    "Identity",
    fold=lambda op, x: x,
    read_sizes=lambda static, op: static.sizes(op.inputs[0]),
    batch_rule=elementwise,
)
# Represents an output of a loop outside the loop.
define("Exit")
define("IdentityN")
define("Placeholder", is_placeholder=True)
define("PlaceholderWithDefault")
define("StopGradient", computed=by_either, batch_rule=elementwise)
