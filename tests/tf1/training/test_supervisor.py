"""Supervisors: sessions, services, and their ends."""

import pytest

import headrace.tf1 as tf


@pytest.fixture
def count():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def events(directory):
    [path] = directory.glob("*tfevents*")
    return list(tf.train.summary_iterator(str(path)))


def test_end_of_the_input_ends_the_block_and_the_threads(count):
    number = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
    supervisor = tf.train.Supervisor()
    taken = []
    with supervisor.managed_session() as sess:
        while not supervisor.should_stop():
            taken.append(sess.run(number))
    assert taken == [0, 1, 2, 0, 1, 2]
    assert supervisor.coord.joined
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(number)


def test_error_in_the_block_is_raised(count):
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="the loop"), supervisor.managed_session():
        raise KeyError("the loop")


def test_thread_error_is_raised_by_the_block(count):
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="a thread"), supervisor.managed_session():
        supervisor.loop(None, {}.pop, args=["a thread"]).join()


def test_services_write_summaries_steps_and_checkpoints(count, tmp_path):
    tf.summary.scalar("one", 1.0)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=1e-9)
    sess = supervisor.prepare_or_wait_for_session(start_standard_services=False)
    sess.run(count)
    threads = supervisor.start_standard_services(sess)
    written = tf.train.LooperThread.loop(supervisor.coord, None, lambda: None)
    while not supervisor.should_stop():
        names = {path.suffix for path in tmp_path.iterdir()}
        if ".index" in names and {"one", "global_step/sec"} <= tags(supervisor, tmp_path):
            supervisor.request_stop()
    supervisor.stop([*threads, written])
    sess.close()
    logs = [(e.step, e.session_log.status) for e in events(tmp_path) if e.HasField("session_log")]
    log = tf.SessionLog
    assert sorted(logs) == sorted([(1, log.START), (1, log.CHECKPOINT), (0, log.STOP)])
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{supervisor.save_path}-1"
    assert (tmp_path / "graph.pbtxt").exists()


def tags(supervisor, directory):
    supervisor.summary_writer.flush()
    return {value.tag for event in events(directory) for value in event.summary.value}


def test_second_supervisor_continues_from_the_checkpoint(tmp_path):
    steps = []
    for _ in range(2):
        with tf.Graph().as_default():
            count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0)
            with supervisor.managed_session(start_standard_services=False) as sess:
                steps += [sess.run(count), sess.run(count)]
                supervisor.saver.save(sess, supervisor.save_path, supervisor.global_step)
    assert steps == [1, 2, 3, 4]


@pytest.mark.parametrize("is_chief", [True, False])
def test_empty_directory_name_means_no_directory(tmp_path, monkeypatch, is_chief):
    monkeypatch.chdir(tmp_path)
    one = tf.constant(1)
    supervisor = tf.train.Supervisor(logdir="", is_chief=is_chief)
    assert supervisor.save_path is supervisor.summary_writer is None
    with supervisor.managed_session() as sess:
        assert sess.run(one) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("num_variables", [1, 2])
def test_ready_op_can_check_that_variables_are_initialized(num_variables):
    for number in range(num_variables):
        tf.Variable(number, name=f"v{number}")
    ready = tf.assert_variables_initialized()
    supervisor = tf.train.Supervisor(ready_op=ready)
    with supervisor.managed_session() as sess:
        assert sess.run("v0:0") == 0


def test_failed_ready_op_names_an_uninitialized_variable():
    tf.Variable(0, name="v")
    supervisor = tf.train.Supervisor(
        ready_op=tf.assert_variables_initialized(),
        ready_for_local_init_op=None,
        init_op=tf.no_op(),
    )
    with pytest.raises(RuntimeError, match="uninitialized value v"), supervisor.managed_session():
        pass


def test_no_services_run_without_a_directory(count, caplog):
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as sess:
        assert supervisor.start_standard_services(sess) is None
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            supervisor.summary_computed(sess, b"")
    assert "need a 'logdir'" in caplog.text
    assert supervisor.summary_writer is supervisor.save_path is None


def test_program_summaries_have_the_global_step(count, tmp_path):
    summary = tf.summary.scalar("one", 1.0)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, save_model_secs=0)
    with supervisor.managed_session() as sess:
        sess.run(count)
        supervisor.summary_computed(sess, sess.run(summary))
        supervisor.summary_computed(sess, sess.run(summary), global_step=9)
    # The supervisor's own threads write summaries of theirs.
    steps = [
        event.step
        for event in events(tmp_path)
        if any(value.tag == "one" for value in event.summary.value)
    ]
    assert steps == [1, 9]


def test_passed_operations_are_used_and_the_graph_is_finalized(count):
    init, local, saver = tf.no_op(), tf.no_op(), tf.train.Saver()
    supervisor = tf.train.Supervisor(
        init_op=init,
        local_init_op=local,
        saver=saver,
        ready_op=None,
        global_step=None,
        init_feed_dict={"a": 1},
    )
    assert (supervisor.init_op, supervisor.saver) == (init, saver)
    assert supervisor.ready_op is supervisor.global_step is None
    assert supervisor.init_feed_dict == {"a": 1}
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)


def test_non_integer_global_step_is_ignored(caplog):
    tf.Variable(1.0, name="global_step")
    assert tf.train.Supervisor().global_step is None
    assert "is not an int type" in caplog.text


def test_worker_requires_devices_and_writes_nothing(tmp_path):
    with tf.device("/job:ps"):
        tf.Variable(1)
    supervisor = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path / "none"))
    assert supervisor.save_model_secs is supervisor.save_summaries_secs is None
    with pytest.raises(RuntimeError, match="Only chief"):
        supervisor.start_standard_services(tf.Session())
    assert not (tmp_path / "none").exists()


def test_worker_without_devices_is_rejected():
    tf.Variable(1, name="v")
    with pytest.raises(ValueError, match="must have their device set"):
        tf.train.Supervisor(is_chief=False)


def test_train_loop_ends_when_a_stop_is_requested(count):
    supervisor = tf.train.Supervisor()
    steps = []

    def train_step(sess, last):
        steps.append(sess.run(count))
        if steps[-1] == last:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train_step, kwargs={"last": 3})
    assert steps == [1, 2, 3]


def test_train_loop_continues_with_a_new_session_after_an_aborted_step(count):
    supervisor = tf.train.Supervisor()
    sessions, steps = [], []

    def train_step(sess):
        sessions.append(sess)
        steps.append(int(sess.run(count)))
        if len(steps) == 2:
            raise tf.errors.AbortedError(None, None, "the server was started anew")
        if len(steps) == 5:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train_step)
    assert steps == [1, 2, 1, 2, 3]
    assert [sess is sessions[0] for sess in sessions] == [True, True, False, False, False]
    assert sessions[0].is_closed


def test_train_loop_ends_with_any_other_error(count):
    def train_step(sess):
        raise tf.errors.UnavailableError(None, None, "no answer")

    with pytest.raises(tf.errors.UnavailableError, match="no answer"):
        tf.train.basic_train_loop(tf.train.Supervisor(), train_step)


def test_older_names_are_the_same_methods():
    for old, new in {
        "PrepareSession": "prepare_or_wait_for_session",
        "ShouldStop": "should_stop",
        "StartQueueRunners": "start_queue_runners",
    }.items():
        assert getattr(tf.train.Supervisor, old) is getattr(tf.train.Supervisor, new)
