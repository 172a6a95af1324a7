"""Checks numbers for infinity and NaN.

Source: `tf.check_numerics` and `tf.verify_tensor_all_finite` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS
from headrace.ops.framework.inference import like
from headrace.ops.framework.kernel import Array, fail

__all__ = ["assert_all_finite", "check_numerics"]


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns a floating-point tensor unchanged after checking that all elements are finite.

    Args:
        tensor: The tensor.
        message: The start of the error message.
        name: Name of the operation.

    Returns:
        The same values.

    Raises:
        InvalidArgumentError: At run time, if an element is infinite or NaN.
    """

    def kernel(x: Array) -> Array:
        has_inf, has_nan = np.isinf(x).any(), np.isnan(x).any()
        if has_inf or has_nan:
            kinds = "Inf and NaN" if has_inf and has_nan else "Inf" if has_inf else "NaN"
            fail(f"{message} : Tensor had {kinds} values")
        return x

    inputs = [Input("tensor", tensor, allowed=FLOATS)]
    attrs = {"message": message}
    op = apply_op("CheckNumerics", inputs, like, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns a floating-point tensor that waits for the check that all elements are finite.

    Args:
        x: The tensor.
        message: The start of the error message.
        name: Name of the operation.

    Returns:
        The same values.

    Raises:
        InvalidArgumentError: At run time, if an element is infinite or NaN.
    """
    with name_scope(name, "VerifyFinite", [x]):
        tensor = convert_to_tensor(x, name="x")
        return with_dependencies([check_numerics(tensor, message=message)], tensor)


define("CheckNumerics")
