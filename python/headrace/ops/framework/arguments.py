"""Converts a caller's arguments to an operation's inputs.

`apply_op` does the work that all operations share. It opens a name scope, converts each argument to
a tensor inside the scope, checks that the types match, infers the static shape and adds the
operation. Its error messages are the same as TensorFlow's.

Source: `OpDefLibrary.apply_op` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Operation, Tensor, TensorLike, get_default_graph, name_scope
from headrace.ops.framework.attributes import check_allowed
from headrace.ops.framework.conversion import convert_n_to_tensor, convert_to_tensor
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import NumpyKernel

__all__ = ["Input", "InputList", "apply_op"]

Outputs = Sequence[tuple[DType, TensorShape]]


@dataclass(frozen=True, slots=True)
class Input:
    """An argument that becomes one input.

    Attributes:
        name: Name of the parameter, for errors and for the constant that a Python value becomes.
        value: The caller's argument.
        dtype: The required type, or None if the type can vary.
        var: Name of the type variable. Inputs with the same type variable have the same type.
        allowed: The allowed types. If None, all types are allowed.
        default: The preferred type of a Python value, or of an array whose own type is not allowed.
    """

    name: str
    value: TensorLike
    dtype: DType | None = None
    var: str = "T"
    allowed: Sequence[DType] | None = None
    default: DType | None = None

    def preferred(self) -> DType | None:
        """Returns the type to try first."""
        own = self.value.dtype if isinstance(self.value, (np.ndarray, np.generic)) else None
        is_allowed = own in [dtype.as_numpy_dtype for dtype in self.allowed or ()]
        return None if is_allowed else self.default


@dataclass(frozen=True, slots=True)
class InputList:
    """An argument that becomes several inputs.

    Attributes:
        name: Name of the parameter, for errors and for the constants that Python values become.
        values: The caller's arguments.
        dtype: The required type, or None if the type can vary.
        var: Name of the type variable. All inputs have the same type.
        allowed: The allowed types. If None, all types are allowed.
        is_mixed: Whether each input can have its own type. If so, the attribute `var` contains the
            list of types.
    """

    name: str
    values: Sequence[TensorLike]
    dtype: DType | None = None
    var: str = "T"
    allowed: Sequence[DType] | None = None
    is_mixed: bool = False


def apply_op(
    op_type: str,
    inputs: Sequence[Input | InputList],
    infer: Callable[..., Outputs],
    *,
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    kernel: Callable[..., Any] | None = None,
) -> Operation:
    """Adds an operation on the caller's arguments.

    Args:
        op_type: The type of the operation, which is also the default name.
        inputs: The arguments, in order.
        infer: Receives the input tensors and returns the dtype and static shape of each output.
        name: Name of the operation and of the scope around its constants.
        attrs: The attributes. Attributes for type variables are added automatically.
        kernel: Receives one array per input and returns one array per output. None if the native
            engine has a kernel for the type.

    Returns:
        The operation, in the graph of the arguments.

    Raises:
        TypeError: If a type is not allowed.
        ValueError: If an argument cannot be converted, the inputs belong to different graphs, or
            shapes do not match.
    """
    types: dict[str, tuple[DType, str]] = {}
    type_lists: dict[str, list[DType]] = {}
    op_inputs = [
        value
        for item in inputs
        for value in (item.values if isinstance(item, InputList) else (item.value,))
    ]
    with name_scope(name or None, op_type, op_inputs) as scope:
        tensors: list[Tensor] = []
        for item in inputs:
            if isinstance(item, Input):
                tensors.append(_convert_one(op_type, item, types))
            elif item.is_mixed:
                converted = _convert_mixed(op_type, item)
                type_lists[item.var] = [tensor.dtype.base_dtype for tensor in converted]
                tensors += converted
            else:
                tensors += _convert_list(op_type, item, types)
        try:
            outputs = infer(*tensors)
        except ShapeConflict as conflict:
            raise ValueError(_describe(str(conflict), scope[:-1], op_type, tensors)) from None
        output_dtypes = [dtype for dtype, _ in outputs]
        all_attrs: dict[str, Any] = {var: dtype for var, (dtype, _) in types.items()}
        all_attrs |= type_lists | (attrs or {})
        return get_default_graph().create_op(
            op_type,
            tensors,
            output_dtypes,
            output_shapes=[shape for _, shape in outputs],
            name=scope,
            attrs=all_attrs,
            kernel=None if kernel is None else NumpyKernel(kernel, output_dtypes),
        )


def _convert_one(op_type: str, item: Input, types: dict[str, tuple[DType, str]]) -> Tensor:
    expected_dtype = item.dtype
    if expected_dtype is None and item.var in types:
        expected_dtype = types[item.var][0]
    try:
        tensor = convert_to_tensor(item.value, expected_dtype, item.preferred(), item.name)
    except TypeError as error:
        if expected_dtype is None:
            raise
        raise TypeError(
            f"Expected {expected_dtype.name} passed to parameter '{item.name}' of op '{op_type}', "
            f"got {item.value!r} of type '{type(item.value).__name__}' instead. Error: {error}"
        ) from None
    except ValueError as error:
        dtype = getattr(item.value, "dtype", None)
        if expected_dtype is None or not isinstance(dtype, DType):
            raise ValueError(
                f"Tried to convert '{item.name}' to a tensor and failed. Error: {error}"
            ) from None
        text = f"Input '{item.name}' of '{op_type}' Op has type {dtype.base_dtype.name} that does"
        if item.dtype is not None:
            raise TypeError(f"{text} not match expected type of {expected_dtype.name}.") from None
        first = types[item.var][1]
        raise TypeError(
            f"{text} not match type {expected_dtype.name} of argument '{first}'."
        ) from None
    if item.dtype is None:
        check_allowed(item.name, tensor.dtype.base_dtype, item.allowed)
        types.setdefault(item.var, (tensor.dtype.base_dtype, item.name))
    return tensor


def _convert_list(
    op_type: str, item: InputList, types: dict[str, tuple[DType, str]]
) -> list[Tensor]:
    first = next((value for value in item.values if isinstance(value, Tensor)), None)
    dtype = item.dtype or (None if first is None else first.dtype.base_dtype)
    try:
        tensors = convert_n_to_tensor(item.values, dtype, name=item.name)
        if len({tensor.dtype.base_dtype for tensor in tensors}) > 1:
            raise TypeError("the types differ")
    except (TypeError, ValueError):
        types_text = ", ".join(_observed_type(value) for value in item.values)
        expected = "don't all match."
        if item.dtype is not None:
            expected = f"do not match expected type {item.dtype.name}."
        raise TypeError(
            f"Tensors in list passed to '{item.name}' of '{op_type}' Op have types [{types_text}] "
            f"that {expected}"
        ) from None
    if tensors and item.dtype is None:
        check_allowed(item.name, tensors[0].dtype.base_dtype, item.allowed)
        types.setdefault(item.var, (tensors[0].dtype.base_dtype, item.name))
    return tensors


def _convert_mixed(op_type: str, item: InputList) -> list[Tensor]:
    try:
        tensors = convert_n_to_tensor(item.values, name=item.name)
    except (TypeError, ValueError):
        types_text = ", ".join(_observed_type(value) for value in item.values)
        raise TypeError(
            f"Tensors in list passed to '{item.name}' of '{op_type}' Op have types [{types_text}] "
            f"that are invalid. Tensors: {item.values!r}"
        ) from None
    for tensor in tensors:
        check_allowed(item.name, tensor.dtype.base_dtype, item.allowed)
    return tensors


def _observed_type(value: TensorLike) -> str:
    try:
        return convert_to_tensor(value).dtype.base_dtype.name
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"


def _describe(text: str, name: str, op_type: str, tensors: Sequence[Tensor]) -> str:
    shapes = ", ".join(bracketed(tensor.shape) for tensor in tensors)
    values = [(index, fold(tensor)) for index, tensor in enumerate(tensors)]
    descriptions = [
        f"input[{index}] = <{' '.join(map(str, value.ravel().tolist()))}>"
        for index, value in values
        if value is not None and value.size <= _MAX_SHOWN
    ]
    computed = (
        f" and with computed input tensors: {', '.join(descriptions)}" if descriptions else ""
    )
    return f"{text} for '{name}' (op: '{op_type}') with input shapes: {shapes}{computed}."


# Longer values are truncated in an error message.
_MAX_SHOWN = 16
