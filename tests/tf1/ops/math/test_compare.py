import re

import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    ("function", "op_type", "value"),
    [
        (tf.equal, "Equal", [False, True, False]),
        (tf.not_equal, "NotEqual", [True, False, True]),
        (tf.less, "Less", [True, False, False]),
        (tf.less_equal, "LessEqual", [True, True, False]),
        (tf.greater, "Greater", [False, False, True]),
        (tf.greater_equal, "GreaterEqual", [False, True, True]),
    ],
)
def test_comparisons_return_bools(run, function, op_type, value):
    result = function([1, 2, 3], 2)
    assert (result.op.name, result.dtype) == (op_type, tf.bool)
    assert run(result).tolist() == value


def test_strings_and_bools_can_be_compared_for_equality(run):
    assert run(tf.equal(["a", "b"], "a")).tolist() == [True, False]
    assert run(tf.not_equal([True, False], True)).tolist() == [False, True]


def test_strings_cannot_be_ordered():
    with pytest.raises(TypeError, match="DataType string not in list of allowed values"):
        tf.less("a", "b")


@pytest.mark.parametrize(
    ("function", "op_type", "value"),
    [
        (tf.logical_and, "LogicalAnd", [True, False, False, False]),
        (tf.logical_or, "LogicalOr", [True, True, True, False]),
        (tf.logical_xor, "LogicalAnd", [False, True, True, False]),
    ],
)
def test_logical_operations_match_their_truth_tables(run, function, op_type, value):
    result = function([True, True, False, False], [True, False, True, False])
    assert result.op.type == op_type
    assert run(result).tolist() == value


def test_logical_not_negates(run):
    assert run(tf.logical_not([True, False])).tolist() == [False, True]


def test_nan_and_infinity_are_detected(run):
    x = [1.0, float("inf"), float("nan")]
    assert run(tf.is_nan(x)).tolist() == [False, False, True]
    assert run(tf.is_inf(x)).tolist() == [False, True, False]
    assert run(tf.is_finite(x)).tolist() == [True, False, False]


@pytest.mark.parametrize("function", [tf.equal, tf.less])
def test_shapes_that_do_not_broadcast_fail_at_run_time(run, hidden, function):
    words = re.escape("Incompatible shapes: [2] vs. [3]")
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(function(hidden([1, 2]), hidden([1, 2, 3])))


def test_bools_that_do_not_broadcast_fail_at_run_time(run, hidden):
    words = re.escape("Incompatible shapes: [2] vs. [3]")
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(tf.logical_and(hidden([True, False]), hidden([True, False, True])))
