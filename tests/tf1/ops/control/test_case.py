"""`tf.case`: the first function whose condition is true."""

from collections import OrderedDict

import pytest

import headrace.tf1 as tf


@pytest.fixture
def x():
    return tf.placeholder(tf.int32, [], name="x")


def values(fetch, x, numbers):
    with tf.Session() as session:
        return [session.run(fetch, {x: number}) for number in numbers]


def test_case_uses_the_first_true_condition(x):
    pairs = [(x < 1, lambda: tf.constant(10)), (x < 2, lambda: tf.constant(20))]
    result = tf.case(pairs, default=lambda: tf.constant(30))
    assert result.shape == []
    assert values(result, x, [0, 1, 2]) == [10, 20, 30]


def test_case_without_a_default_requires_a_true_condition(x):
    result = tf.case([(x < 1, lambda: tf.constant(10)), (x < 2, lambda: tf.constant(20))])
    assert values(result, x, [0, 1]) == [10, 20]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"
    ):
        values(result, x, [2])


def test_exclusive_case_rejects_two_true_conditions(x):
    pairs = [(x < 1, lambda: tf.constant(10)), (x < 2, lambda: tf.constant(20))]
    result = tf.case(pairs, default=lambda: tf.constant(30), exclusive=True)
    assert values(result, x, [1, 2]) == [20, 30]
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        values(result, x, [0])


def test_only_the_selected_function_has_effects(x):
    first, second = tf.Variable(0), tf.Variable(0)
    result = tf.case(
        [(x < 1, lambda: first.assign_add(1) + 0), (x < 2, lambda: second.assign_add(1) + 0)],
        default=lambda: tf.constant(0),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(result, {x: number}) for number in (0, 1, 1, 5)] == [1, 1, 2, 0]
        assert session.run([first, second]) == [1, 2]


def test_conditions_of_dicts_are_tried_in_order(x):
    low, high = tf.less(x, 5, name="z"), tf.less(x, 9, name="a")
    functions = [(low, lambda: tf.constant(1)), (high, lambda: tf.constant(2))]
    assert values(tf.case(OrderedDict(functions)), x, [0, 7]) == [1, 2]
    # By name: "a" before "z".
    assert values(tf.case(dict(functions)), x, [0, 7]) == [2, 2]


@pytest.mark.parametrize(
    ("pairs", "error", "text"),
    [
        (1, TypeError, "fns must be a list, tuple, or dict"),
        ([], ValueError, "pred_fn_pairs is empty"),
        ([[1, 2]], TypeError, "must be a 2-tuple"),
        ([(1, 2)], TypeError, "pred must be a Tensor, got: 1"),
        ([(True, lambda: 1)], TypeError, "pred must be a Tensor, got: True"),
    ],
)
def test_invalid_predicate_pairs_are_rejected(pairs, error, text):
    with pytest.raises(error, match=text):
        tf.case(pairs)


def test_conditions_and_functions_are_checked(x):
    with pytest.raises(TypeError, match="pred must be Tensor of type bool: x:0"):
        tf.case([(x, lambda: 1)])
    with pytest.raises(TypeError, match=r"fn for pred .* must be callable"):
        tf.case([(x < 1, 1)])
    with pytest.raises(TypeError, match="default must be callable"):
        tf.case([(x < 1, lambda: 1)], default=1)
