"""`assert_variables_initialized`."""

import pytest

import headrace.tf1 as tf


def test_variable_without_a_value_ends_the_run():
    tf.Variable([1.0], name="first")
    second = tf.Variable(2, name="second", trainable=False, collections=["local_variables"])
    checked = tf.assert_variables_initialized()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        words = "Attempting to use uninitialized value second"
        with pytest.raises(tf.errors.FailedPreconditionError, match=words):
            session.run(checked)
        with pytest.raises(tf.errors.FailedPreconditionError, match=words):
            session.run(tf.assert_variables_initialized([second]))
        session.run(tf.local_variables_initializer())
        assert session.run(checked).tolist() == [1, 0]


def test_assertion_without_variables_returns_none():
    assert tf.assert_variables_initialized() is None
    assert tf.assert_variables_initialized([]) is None
