"""`tf.debugging`: assertions under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.control.assertions import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
)
from headrace.ops.control.control_flow import Assert
from headrace.ops.control.static_assertions import (
    assert_integer,
    assert_proper_iterable,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_same_float_dtype,
    is_non_decreasing,
    is_numeric_tensor,
    is_strictly_increasing,
)
from headrace.ops.math.compare import is_finite, is_inf, is_nan
from headrace.tf1.adapters.control import assert_scalar, assert_type
from headrace.tf1.adapters.math import verify_tensor_all_finite
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.math.check_numerics import check_numerics

assert_all_finite = verify_tensor_all_finite

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "check_numerics",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
