"""`switch` and `merge`: a value takes one of two ways."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.ops.control.switch import merge, switch


@pytest.fixture
def predicate():
    return tf.placeholder(tf.bool, [], name="p")


def both(predicate, fetches):
    """The values if the predicate is true and if it is false."""
    with tf.Session() as session:
        return [session.run(fetches, {predicate: value}) for value in (True, False)]


def test_predicate_chooses_the_output(predicate):
    left, right = switch(7, predicate)
    merged = merge([left + 1, right * 10])
    assert merged.output.shape == []
    assert merged.value_index.dtype == tf.int32
    assert both(predicate, merged) == [(70, 1), (8, 0)]


def test_dead_output_cannot_be_fetched(predicate):
    left, right = switch(tf.constant([1, 2]), predicate)
    with tf.Session() as session:
        assert session.run(right, {predicate: True}).tolist() == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(left * 2, {predicate: True})


def test_merge_of_dead_branches_has_no_value():
    number = tf.placeholder(tf.int32, [])
    ways = [switch(1, tf.equal(number, i)).output_true for i in range(3)]
    merged = merge(ways)
    with tf.Session() as session:
        assert [session.run(merged.value_index, {number: i}) for i in range(3)] == [0, 1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(merged.output, {number: 3})


def test_operation_with_a_dead_input_does_not_run(predicate):
    calls = []

    def called(x):
        calls.append(int(x))
        return x

    _, right = switch(5, predicate)
    result = tf.py_func(called, [right], tf.int32)
    other = merge([switch(6, predicate).output_false, result]).output
    assert both(predicate, other) == [5, 6]
    assert calls == [5]


def test_switches_can_be_nested(predicate):
    inner = tf.placeholder_with_default(True, [])
    left, right = switch(1, predicate)
    nested = switch(right, inner)
    joined = merge([nested.output_false + 10, nested.output_true + 20])
    uninterrupted = merge([left, joined.output]).output
    in_one = merge([left, nested.output_false + 10, nested.output_true + 20])
    assert both(predicate, [uninterrupted, in_one.output, in_one.value_index]) == [
        [21, 21, 2],
        [1, 1, 0],
    ]


def test_merge_prefers_a_conditional_input_to_a_constant_one(predicate):
    merged = merge([switch(1, predicate).output_true, tf.constant(2)])
    assert both(predicate, merged.output) == [1, 2]


def test_cond_can_use_a_switch_output(predicate):
    value = switch(np.float32(3), predicate).output_true
    result = tf.cond(value > 2, lambda: value * 2, lambda: value)
    assert both(predicate, merge([result, tf.constant(-1.0)]).output) == [6.0, -1.0]


def test_invalid_arguments_are_rejected(predicate):
    with pytest.raises(TypeError, match="bool"):
        switch(1, 3)
    with pytest.raises(ValueError, match=r"Shapes .* incompatible"):
        switch(1, [True, False])
    with pytest.raises(ValueError, match="merge: got no inputs, expected at least one tensor"):
        merge([])
    with pytest.raises((TypeError, ValueError), match="float32"):
        merge([switch(1, predicate).output_true, tf.constant(1.0)])
