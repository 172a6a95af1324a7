import re

import pytest

import headrace.tf1 as tf

STEP = tf.GraphKeys.GLOBAL_STEP


def test_global_step_is_created_once(run):
    assert tf.train.get_global_step() is None
    with tf.name_scope("n"), tf.variable_scope("a"):
        step = tf.train.get_or_create_global_step()
    assert tf.train.get_or_create_global_step() is tf.train.get_global_step() is step
    assert (step.op.name, step.dtype.base_dtype, step.shape) == ("a/global_step", tf.int64, [])
    assert tf.global_variables() == tf.get_collection(STEP) == [step]
    assert tf.trainable_variables() == []
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    run(step.initializer)
    run(step.assign_add(3))
    session = tf.get_default_session()
    for what in (step, step.value(), "a/global_step:0"):
        count = tf.train.global_step(session, what)
        assert (type(count), count) == (int, 3)


def test_global_step_is_found_by_collection_or_name():
    graph = tf.Graph()
    step = tf.train.create_global_step(graph)
    assert step.graph is graph
    assert tf.train.get_global_step(graph) is step
    assert tf.train.get_global_step() is None
    named = tf.Variable(1, name="global_step")
    assert tf.train.get_global_step() is named.op.outputs[0]
    other = tf.Variable(1)
    tf.add_to_collection(STEP, other)
    assert tf.train.get_global_step() is other
    tf.add_to_collection(STEP, named)
    assert tf.train.get_global_step() is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: 3, 'Existing "global_step" must be a Variable or Tensor: 3.'),
        (
            lambda: tf.Variable(1.5),
            "Existing \"global_step\" does not have integer type: <dtype: 'float32'>",
        ),
        (lambda: tf.constant([1]), 'Existing "global_step" is not scalar: (1,)'),
    ],
)
def test_global_step_must_be_an_integer_scalar(make, words):
    step = make()
    tf.add_to_collection(STEP, step)
    for call in (tf.train.get_global_step, lambda: tf.train.assert_global_step(step)):
        with pytest.raises(TypeError, match=re.escape(words)):
            call()
