"""Session managers: sessions whose variables have values."""

import pytest

import headrace.tf1 as tf


@pytest.fixture
def variable():
    return tf.Variable(3, name="v")


def manager(**arguments):
    ready_op = tf.report_uninitialized_variables()
    return tf.train.SessionManager(ready_op=ready_op, **arguments)


def test_session_is_initialized_if_there_is_no_checkpoint(variable, tmp_path):
    sess = manager().prepare_session(
        "",
        init_op=variable.initializer,
        saver=tf.train.Saver(),
        checkpoint_dir=str(tmp_path),
    )
    assert sess.run(variable) == 3


def test_session_is_restored_from_the_latest_checkpoint(variable, tmp_path):
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        for step in range(3):
            variable.load(step, sess)
            saver.save(sess, str(tmp_path / "m"), global_step=step)
    other = tf.train.Saver(max_to_keep=2)
    sess = manager().prepare_session("", saver=other, checkpoint_dir=str(tmp_path), init_fn=print)
    assert sess.run(variable) == 2
    assert other.last_checkpoints == [str(tmp_path / f"m-{step}") for step in (1, 2)]


def test_session_can_be_restored_from_a_named_checkpoint(variable, tmp_path):
    saver = tf.train.Saver()
    with tf.Session() as sess:
        variable.load(8, sess)
        path = saver.save(sess, str(tmp_path / "m"))
    sess = manager().prepare_session("", saver=saver, checkpoint_filename_with_path=path)
    assert sess.run(variable) == 8
    with pytest.raises(ValueError, match="Can not provide both"):
        manager().prepare_session(
            "", saver=saver, checkpoint_filename_with_path=path, checkpoint_dir=str(tmp_path)
        )


def test_session_waits_for_a_checkpoint(variable, tmp_path, monkeypatch):
    saver = tf.train.Saver()
    other = tf.Session()
    variable.load(5, other)
    monkeypatch.setattr("time.sleep", lambda seconds: saver.save(other, str(tmp_path / "m")))
    sess = manager().prepare_session(
        "", saver=saver, checkpoint_dir=str(tmp_path), wait_for_checkpoint=True
    )
    assert sess.run(variable) == 5


def test_local_variables_are_also_initialized_after_a_restore(variable, tmp_path):
    local = tf.Variable(1, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    saver = tf.train.Saver()
    with tf.Session() as sess:
        variable.load(5, sess)
        saver.save(sess, str(tmp_path / "m"))
    output = manager(local_init_op=local.initializer)
    sess, is_ready = output.recover_session("", saver, str(tmp_path))
    assert is_ready
    assert sess.run([variable, local]) == [5, 1]


def test_session_that_is_not_ready_is_an_error(variable):
    with pytest.raises(RuntimeError, match=r"did not make model ready\..*not initialized: v"):
        manager(local_init_op=tf.no_op()).prepare_session("")
    with pytest.raises(RuntimeError, match="did not make model ready for local_init"):
        manager(
            local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables()
        ).prepare_session("")
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager().prepare_session("")


def test_waiting_ends_at_once_if_the_session_is_ready():
    tf.no_op()
    assert isinstance(manager().wait_for_session("", max_wait_secs=0), tf.Session)
