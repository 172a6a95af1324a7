"""Scaffolds: parts that are passed, found in collections, or created."""

import pytest

import headrace.tf1 as tf


def test_created_operations_are_added_to_the_collections():
    tf.Variable(1)
    scaffold = tf.train.Scaffold()
    assert (scaffold.init_op, scaffold.saver) == (None, None)
    assert scaffold.finalize() is scaffold
    for key, output in {
        tf.GraphKeys.INIT_OP: scaffold.init_op,
        tf.GraphKeys.READY_OP: scaffold.ready_op,
        tf.GraphKeys.READY_FOR_LOCAL_INIT_OP: scaffold.ready_for_local_init_op,
        tf.GraphKeys.LOCAL_INIT_OP: scaffold.local_init_op,
        tf.GraphKeys.SAVERS: scaffold.saver,
    }.items():
        assert tf.get_collection(key) == [output]
    assert scaffold.summary_op is None
    assert tf.get_default_graph().finalized


def test_operation_from_a_collection_is_used():
    merged = tf.summary.merge([tf.summary.scalar("a", 1.0)])
    tf.add_to_collection(tf.GraphKeys.SUMMARY_OP, merged)
    assert tf.train.Scaffold().finalize().summary_op is merged


def test_two_operations_in_a_collection_are_an_error():
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match=r'collection "init_op".*tf.Scaffold\(init_op='):
        tf.train.Scaffold().finalize()


def test_copy_keeps_arguments_that_are_not_overridden():
    first, second = tf.no_op(), tf.no_op()
    base = tf.train.Scaffold(init_op=first, summary_op=tf.constant(b""), init_feed_dict={1: 2})
    copy = tf.train.Scaffold(init_op=second, copy_from_scaffold=base)
    assert (copy.init_op, copy.summary_op) == (second, base.summary_op)
    assert copy.init_feed_dict == {1: 2}


def test_init_fn_receives_the_scaffold_and_the_session():
    variable = tf.Variable(1)
    initializer = variable.initializer
    seen = []

    def init_fn(scaffold, session):
        seen.append(scaffold)
        session.run(initializer)

    scaffold = tf.train.Scaffold(init_op=tf.no_op(), init_fn=init_fn)
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as sess:
        assert sess.run(variable) == 1
    assert seen == [scaffold]


def test_error_names_an_uninitialized_variable():
    tf.Variable(1, name="forgotten")
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="Variables not initialized: forgotten"):
        tf.train.SingularMonitoredSession(scaffold=scaffold)
