"""Operations that change a variable, or inspect it without reading its value.

These operations accept a variable, or a tensor that represents one, such as the output of an
assignment.

Source: `tf.assign`, `tf.assign_add`, `tf.assign_sub`, `tf.count_up_to` and
`tf.is_variable_initialized` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import SupportsTensor, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import like, merge_shapes

__all__ = ["assign", "assign_add", "assign_sub", "count_up_to", "is_variable_initialized"]


def assign(
    ref: Tensor | SupportsTensor,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that replaces a variable's value.

    Args:
        ref: The variable.
        value: The new value, which must be convertible to a tensor of the same type.
        validate_shape: Whether the value must have the variable's shape. Defaults to True.
        use_locking: Accepted for compatibility, but not used, because updates never overlap.
        name: Name of the operation.

    Returns:
        The variable's new value, as a tensor that represents the variable.

    Raises:
        InvalidArgumentError: At run time, if the value has the wrong shape and `validate_shape` is
            True.
        TypeError: If `ref` is not a variable, or the value cannot be converted.
        ValueError: If the static shapes differ and `validate_shape` is True.
    """
    is_checked = validate_shape is None or bool(validate_shape)

    def infer(target: Tensor, tensor: Tensor) -> list[tuple[DType, TensorShape]]:
        shape = merge_shapes(target.shape, tensor.shape) if is_checked else tensor.shape
        return [(target.dtype, shape)]

    attrs = {"validate_shape": is_checked, "use_locking": use_locking is not False}
    return apply_to_variable("Assign", ref, [Input("value", value)], infer, attrs, name)


def assign_add(
    ref: Tensor | SupportsTensor,
    value: TensorLike,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that adds to a variable's value, atomically.

    Args:
        ref: The variable.
        value: The value to add, of the variable's type and shape.
        use_locking: Accepted for compatibility, but not used.
        name: Name of the operation.

    Returns:
        The variable's new value, as a tensor that represents the variable.

    Raises:
        FailedPreconditionError: At run time, if the variable has no value.
        TypeError: If `ref` is not a variable, or the value cannot be converted.
        ValueError: If the static shapes differ.
    """
    return _update("AssignAdd", ref, value, use_locking, name)


def assign_sub(
    ref: Tensor | SupportsTensor,
    value: TensorLike,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that subtracts from a variable. See `assign_add` for the arguments."""
    return _update("AssignSub", ref, value, use_locking, name)


def count_up_to(ref: Tensor | SupportsTensor, limit: int, name: str | None = None) -> Tensor:
    """Adds an operation that adds one to a variable and returns the previous value.

    Args:
        ref: A scalar variable of int32 or int64.
        limit: The value at which counting stops.
        name: Name of the operation.

    Raises:
        OutOfRangeError: At run time, if the value is already `limit`. The value does not change.
        TypeError: If `ref` is not an integer variable, or `limit` is not an integer.
    """
    try:
        attrs = {"limit": int(limit)}
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'limit' not {limit!r}.") from None
    return apply_to_variable("CountUpTo", ref, [], like, attrs, name, (dtypes.int32, dtypes.int64))


def is_variable_initialized(ref: Tensor | SupportsTensor, name: str | None = None) -> Tensor:
    """Adds an operation that returns as a bool scalar whether a variable has been initialized.

    Raises:
        TypeError: If `ref` is not a variable.
    """

    def infer(_target: Tensor) -> list[tuple[DType, TensorShape]]:
        return [(dtypes.bool, TensorShape([]))]

    return apply_to_variable("IsVariableInitialized", ref, [], infer, {}, name)


def initialized_value(
    ref: Tensor | SupportsTensor, default: Tensor, name: str | None = None
) -> Tensor:
    """Adds an operation that reads a variable, or returns `default` if it has no value yet."""
    inputs = [Input("default", default)]
    return apply_to_variable(
        "InitializedValue", ref, inputs, lambda _ref, tensor: like(tensor), {}, name
    )


def _update(
    op_type: str,
    ref: Tensor | SupportsTensor,
    value: TensorLike,
    use_locking: bool | None,
    name: str | None,
) -> Tensor:
    def infer(target: Tensor, tensor: Tensor) -> list[tuple[DType, TensorShape]]:
        return [(target.dtype, merge_shapes(target.shape, tensor.shape))]

    attrs = {"use_locking": bool(use_locking)}
    return apply_to_variable(op_type, ref, [Input("value", value)], infer, attrs, name)


def apply_to_variable(
    op_type: str,
    ref: Tensor | SupportsTensor,
    inputs: list[Input],
    infer: Callable[..., Outputs],
    attrs: dict[str, Any],
    name: str | None,
    allowed: Sequence[DType] | None = None,
) -> Tensor:
    """Adds an operation on a variable, and returns its output.

    Args:
        op_type: The type of the operation.
        ref: The variable.
        inputs: The inputs after the variable.
        infer: A function that accepts all input tensors and returns the dtype and static shape of
            each output.
        attrs: The attributes. Attributes for type variables are added automatically.
        name: Name of the operation.
        allowed: The types that the variable may have. Defaults to all types.

    Raises:
        TypeError: If `ref` is not a variable.
    """
    convert = getattr(ref, "_as_graph_element", None)
    target = convert() if callable(convert) else ref
    if not (isinstance(target, Tensor) and target.dtype._is_ref_dtype):
        raise TypeError(f"{name or op_type}: got {ref!r}, expected a variable.")
    inputs = [Input("ref", target, allowed=allowed), *inputs]
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs).outputs[0]


define("Assign", is_stateful=True, takes_variable=True)
define("AssignAdd", is_stateful=True, takes_variable=True)
define("AssignSub", is_stateful=True, takes_variable=True)
define("CountUpTo", is_stateful=True, takes_variable=True)
define("InitializedValue", is_own=True, is_stateful=True, takes_variable=True)
define("IsVariableInitialized", is_stateful=True, takes_variable=True)
