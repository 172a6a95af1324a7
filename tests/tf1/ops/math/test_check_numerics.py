import re

import numpy as np
import pytest

import headrace.tf1 as tf

CHECKS = [tf.check_numerics, tf.verify_tensor_all_finite, tf.debugging.assert_all_finite]


@pytest.mark.parametrize("check", CHECKS)
def test_finite_numbers_pass(run, check):
    result = check([1.0, 2.0], "here")
    assert result.shape == [2]
    assert run(result).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("values", "actual"),
    [([1.0, np.nan], "NaN"), ([-np.inf], "Inf"), ([np.inf, np.nan], "Inf and NaN")],
)
def test_nan_and_infinity_end_the_run(run, hidden, check, values, actual):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run(check(hidden(values), "here"))
    assert caught.value.message.startswith(f"here : Tensor had {actual} values")


def test_integers_are_rejected():
    with pytest.raises(TypeError, match="'tensor' has DataType int32 not in list of allowed"):
        tf.check_numerics([1], "here")


def test_old_and_new_argument_names_are_accepted(run):
    assert run(tf.verify_tensor_all_finite(x=[1.0], message="here")).tolist() == [1.0]
    with pytest.raises(ValueError, match=re.escape("Cannot specify both 't' and 'x'")):
        tf.verify_tensor_all_finite([1.0], x=[1.0], message="here")
