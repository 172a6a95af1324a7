"""Refusing numbers that are not finite.

Source: `tf.check_numerics` and `tf.verify_tensor_all_finite` of TensorFlow 1.15.
"""

from typing import Any

import numpy as np

from headrace.graph import Tensor, name_scope
from headrace.ops.arguments import Input, apply_op, only_one
from headrace.ops.control_flow import with_dependencies
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.elementwise import FLOATS
from headrace.ops.inference import like
from headrace.ops.kernel import Array, fail

__all__ = ["check_numerics", "verify_tensor_all_finite"]


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor of floats as it is, if all are finite.

    Args:
        tensor: The tensor.
        message: How the error begins.
        name: Name of the operation.

    Returns:
        The same values. A run in which one is infinite or not a number ends with
        InvalidArgumentError.
    """

    def kernel(x: Array) -> Any:
        has_inf, has_nan = np.isinf(x).any(), np.isnan(x).any()
        if has_inf or has_nan:
            found = "Inf and NaN" if has_inf and has_nan else "Inf" if has_inf else "NaN"
            fail(f"{message} : Tensor had {found} values")
        return x

    inputs = [Input("tensor", tensor, allowed=FLOATS)]
    attrs = {"message": message}
    op = apply_op("CheckNumerics", inputs, like, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Tensor:
    """Returns a tensor of floats that is there only if all of them are finite.

    Args:
        t: The tensor.
        msg: How the error begins.
        name: Name of the operation.
        x: New name of `t`.
        message: New name of `msg`.

    Returns:
        The same values. A run in which one is infinite or not a number ends with
        InvalidArgumentError.

    Raises:
        ValueError: If both an old and a new name are given.
    """
    tensor = only_one("x", x, "t", t)
    text = only_one("message", message, "msg", msg)
    with name_scope(name, "VerifyFinite", [tensor]):
        tensor = convert_to_tensor(tensor, name="x")
        return with_dependencies([check_numerics(tensor, message=text)], tensor)
