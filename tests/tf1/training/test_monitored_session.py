"""Monitored sessions own the threads of their input and end cleanly."""

import threading

import pytest

import headrace.tf1 as tf


def counted():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def failing_input():
    """A queue whose runner fails, and an operation that waits for the queue."""
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[()])
    with tf.control_dependencies([tf.Assert(tf.constant(False), ["bad input"])]):
        enqueue = queue.enqueue(1)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    return queue.dequeue()


@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
class TestBothKinds:
    def test_end_of_the_input_ends_the_block_and_the_threads(self, kind):
        number = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
        before = threading.active_count()
        taken = []
        with kind() as sess:
            while not sess.should_stop():
                taken.append(sess.run(number))
        assert taken == [0, 1, 2, 0, 1, 2]
        assert threading.active_count() == before
        assert sess.should_stop()

    def test_thread_error_is_raised_by_the_block(self, kind):
        number = failing_input()
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad input"), kind() as sess:
            sess.run(number)
        assert sess.should_stop()

    def test_graph_is_finalized_only_while_the_session_is_open(self, kind):
        counted()
        with kind() as sess:
            assert sess.graph is tf.get_default_graph()
            with pytest.raises(RuntimeError, match="finalized"):
                tf.constant(1)
        tf.constant(1)
        assert sess.graph is None

    def test_finalized_graph_stays_finalized(self, kind):
        counted()
        tf.train.Scaffold().finalize()
        with kind():
            pass
        assert tf.get_default_graph().finalized

    def test_hook_error_at_the_start_leaves_no_thread(self, kind):
        class Hook(tf.train.SessionRunHook):
            def after_create_session(self, session, coord):
                raise ValueError("the hook")

        tf.train.range_input_producer(3)
        with pytest.raises(ValueError, match="the hook"):
            kind(hooks=[Hook()])

    def test_inner_session_is_accessible(self, kind):
        """Some programs unwrap `_sess` until they find one, to give it to a saver."""
        counted()
        with kind() as sess:
            inner = sess
            while type(inner).__name__ != "Session":
                inner = inner._sess
            assert inner is sess._tf_sess()
            assert isinstance(inner, tf.Session)

    def test_closed_session_can_neither_run_nor_close_again(self, kind):
        _, count = counted()
        sess = kind()
        sess.close()
        with pytest.raises(RuntimeError, match="already closed"):
            sess.close()
        with pytest.raises(RuntimeError, match="is closed"):
            sess.run(count)

    def test_hook_observes_runs_and_adds_fetches(self, kind):
        seen = []

        class Hook(tf.train.SessionRunHook):
            def before_run(self, run_context):
                assert run_context.original_args.fetches is count
                return tf.train.SessionRunArgs({"constant": constant})

            def after_run(self, run_context, run_values):
                seen.append(run_values.results)

        _, count = counted()
        constant = tf.constant(7)
        with kind(hooks=[Hook()]) as sess:
            assert [sess.run(count), sess.run(count)] == [1, 2]
        assert seen == [{"constant": 7}] * 2

    def test_hooks_cannot_feed_the_same_tensor(self, kind):
        value = tf.placeholder(tf.int32, [])
        hook = tf.train.FeedFnHook(lambda: {value: 1})
        with (
            pytest.raises(RuntimeError, match=r"fed by a SessionRunHook and user.*Placeholder:0"),
            kind(hooks=[hook]) as sess,
        ):
            sess.run(value, {value: 2})

    def test_hook_options_are_merged(self, kind):
        class Hook(tf.train.SessionRunHook):
            def before_run(self, run_context):
                return tf.train.SessionRunArgs(None, options=tf.RunOptions(timeout_in_ms=9_000))

            def after_run(self, run_context, run_values):
                results.append(run_values.options.timeout_in_ms)

        results = []
        _, count = counted()
        with kind(hooks=[Hook()]) as sess:
            sess.run(count, options=tf.RunOptions(timeout_in_ms=8_000))
        assert results == [9_000]


class Preempted(tf.train.SessionRunHook):
    """Fails once, like a session whose machine is lost."""

    def __init__(self, error):
        self.error = error
        self.num_sessions = 0

    def after_create_session(self, session, coord):
        self.num_sessions += 1

    def before_run(self, run_context):
        if self.error is not None and run_context.session.run("global_step:0") == 2:
            error, self.error = self.error, None
            raise error


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_preempted_session_is_recreated_from_its_checkpoint(kind, tmp_path):
    _, count = counted()
    hook = Preempted(kind(None, None, "gone"))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_steps=1
    ) as sess:
        assert [sess.run(count) for _ in range(4)] == [1, 2, 3, 4]
    assert hook.num_sessions == 2


def test_singular_session_is_not_recreated():
    _, count = counted()
    hook = Preempted(tf.errors.AbortedError(None, None, "gone"))
    with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
        assert [sess.run(count), sess.run(count)] == [1, 2]
        with pytest.raises(tf.errors.AbortedError):
            sess.run(count)
    assert hook.num_sessions == 1


def test_singular_session_exposes_its_raw_session():
    step, count = counted()
    with tf.train.SingularMonitoredSession() as sess:
        sess.run(count)
        assert sess.raw_session().run(step) == 1
    assert sess.raw_session() is None


def test_start_queue_runners_does_nothing_for_a_monitored_session():
    number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    with tf.train.MonitoredSession() as sess:
        assert tf.train.start_queue_runners(sess) == []
        assert sess.run(number) == 0


def test_non_chief_session_waits_for_the_chief():
    counted()
    with pytest.raises(tf.errors.DeadlineExceededError, match="do not share variables"):
        tf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0)


@pytest.mark.parametrize("save", [{"save_checkpoint_secs": 0}, {"save_checkpoint_steps": None}])
def test_training_without_checkpoints_writes_only_summaries(save, tmp_path):
    _, count = counted()
    save = {"save_checkpoint_secs": None, "save_checkpoint_steps": None} | save
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), **save) as sess:
        sess.run(count)
    assert [path.name[:6] for path in tmp_path.iterdir()] == ["events"]


def test_summaries_can_have_a_separate_directory(tmp_path):
    _, count = counted()
    tf.summary.scalar("one", 1.0)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path / "saved"), summary_dir=str(tmp_path / "told")
    ) as sess:
        sess.run(count)
    [events] = (tmp_path / "told").iterdir()
    tags = [v.tag for e in tf.train.summary_iterator(str(events)) for v in e.summary.value]
    assert tags == ["one"]
    assert (tmp_path / "saved" / "model.ckpt-1.index").exists()
