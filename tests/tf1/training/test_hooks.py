"""Hooks: their fetches, logs and files, and the step at which they end training."""

import json
import logging

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def count():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def run(hooks, fetch, num_runs):
    with tf.train.SingularMonitoredSession(hooks=hooks) as sess:
        for _ in range(num_runs):
            sess.run(fetch)


class TestLoggingTensorHook:
    def test_log_line_lists_tags_in_order_and_elapsed_seconds(self, count, caplog):
        caplog.set_level(logging.INFO, "headrace")
        tensors = {"b": tf.constant(1), "a": tf.constant(b"x")}
        run([tf.train.LoggingTensorHook(tensors, every_n_iter=2)], count, 3)
        lines = [line for line in caplog.messages if " = " in line]
        assert lines[0] == "a = b'x', b = 1"
        assert lines[1].startswith("a = b'x', b = 1 (")
        assert lines[1].endswith(" sec)")
        assert len(lines) == 2

    def test_every_n_secs_logs_the_first_run(self, count, caplog):
        caplog.set_level(logging.INFO, "headrace")
        run([tf.train.LoggingTensorHook([count.name], every_n_secs=3600)], count, 3)
        assert f"{count.name} = 1" in caplog.messages

    def test_tensor_of_a_different_graph_is_rejected(self, count):
        with tf.Graph().as_default():
            other = tf.constant(1)
        with pytest.raises(ValueError, match="equal to current graph"):
            tf.train.LoggingTensorHook([other], every_n_iter=1).begin()

    def test_name_of_an_operation_with_two_outputs_is_ambiguous(self):
        tf.unique([1, 1], name="two")
        with pytest.raises(ValueError, match="Name two is ambiguous"):
            tf.train.LoggingTensorHook(["two"], every_n_iter=1).begin()


class TestNanTensorHook:
    def test_nan_loss_is_an_error(self, count):
        hook = tf.train.NanTensorHook(tf.constant(np.nan))
        with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
            run([hook], count, 1)

    def test_nan_loss_can_end_the_training_instead(self, count):
        hook = tf.train.NanTensorHook(tf.constant(np.nan), fail_on_nan_loss=False)
        with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
            sess.run(count)
            assert sess.should_stop()
            with pytest.raises(RuntimeError, match="after should_stop"):
                sess.run(count)


class TestStepCounterHook:
    def test_step_counter_reports_the_rate_at_intervals(self, count, tmp_path, caplog):
        caplog.set_level(logging.INFO, "headrace")
        writer = tf.summary.FileWriter(str(tmp_path))
        run([tf.train.StepCounterHook(every_n_steps=2, summary_writer=writer)], count, 5)
        writer.close()
        [path] = tmp_path.iterdir()
        events = [
            (event.step, event.summary.value[0].tag, event.summary.value[0].simple_value > 0)
            for event in tf.train.summary_iterator(str(path))
            if event.WhichOneof("what") == "summary"
        ]
        assert events == [(3, "global_step/sec", True), (5, "global_step/sec", True)]
        assert sum(line.startswith("global_step/sec: ") for line in caplog.messages) == 2

    def test_step_counter_subclass_receives_the_rate(self, count):
        events = []

        class Hook(tf.train.StepCounterHook):
            def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
                events.append((elapsed_steps, elapsed_time >= 0, global_step))

        run([Hook(every_n_steps=2)], count, 5)
        assert events == [(2, True, 3), (2, True, 5)]


class TestSummarySaverHook:
    def test_several_summaries_are_written_at_their_step(self, count, tmp_path):
        summaries = [tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)]
        hook = tf.train.SummarySaverHook(
            save_steps=2, output_dir=str(tmp_path), summary_op=summaries
        )
        run([hook], count, 3)
        [path] = tmp_path.iterdir()
        events = [
            (event.step, value.tag)
            for event in tf.train.summary_iterator(str(path))
            for value in event.summary.value
        ]
        assert events == [(1, "a"), (1, "b"), (3, "a"), (3, "b")]

    def test_no_summaries_are_written_without_a_directory(self, count):
        hook = tf.train.SummarySaverHook(save_steps=1, summary_op=tf.summary.scalar("a", 1.0))
        run([hook], count, 2)
        assert hook._summary_writer is None


class TestCheckpointSaverHook:
    def test_checkpoints_are_saved_at_the_start_at_intervals_and_at_the_end(self, count, tmp_path):
        hook = tf.train.CheckpointSaverHook(
            str(tmp_path), save_steps=2, saver=tf.train.Saver(), checkpoint_basename="m"
        )
        run([hook], count, 3)
        assert sorted(p.name for p in tmp_path.glob("*.index")) == [
            *("m-0.index", "m-2.index", "m-3.index")
        ]
        assert 'name: "global_step"' in (tmp_path / "graph.pbtxt").read_text()

    def test_saver_can_come_from_the_collection(self, count, tmp_path):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
        run([tf.train.CheckpointSaverHook(str(tmp_path), save_secs=3600)], count, 1)
        assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-1")

    @pytest.mark.parametrize("num_savers", [0, 2])
    def test_collection_must_contain_exactly_one_saver(self, count, tmp_path, num_savers):
        hook = tf.train.CheckpointSaverHook(str(tmp_path), save_secs=3600)
        hook.begin()
        for _ in range(num_savers):
            tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            with pytest.raises(RuntimeError, match="in collection savers, expected one saver"):
                hook.after_create_session(sess, tf.train.Coordinator())


class TestFinalOpsHook:
    def test_final_ops_run_at_the_end(self, count):
        hook = tf.train.FinalOpsHook([tf.train.get_global_step()])
        run([hook], count, 3)
        assert hook.final_ops_values == [3]

    def test_end_of_the_input_in_final_ops_is_an_error(self, count, caplog):
        number = tf.train.range_input_producer(1, num_epochs=1).dequeue()
        hook = tf.train.FinalOpsHook(number)
        with pytest.raises(tf.errors.OutOfRangeError):
            run([hook], number, 1)
        assert "should not depend on the input" in caplog.text

    def test_final_ops_hook_accepts_none(self, count):
        hook = tf.train.FinalOpsHook(None)
        run([hook], count, 1)
        assert hook.final_ops_values is None


class TestGlobalStepWaiterHook:
    def test_global_step_waiter_does_not_wait_for_a_reached_step(self, count):
        hook = tf.train.GlobalStepWaiterHook(1)
        hook.begin()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(count)
            assert hook.before_run(tf.train.SessionRunContext(None, sess)) is None

    def test_global_step_waiter_waits_until_the_step_is_reached(self, count, monkeypatch):
        hook = tf.train.GlobalStepWaiterHook(2)
        hook.begin()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            monkeypatch.setattr("time.sleep", lambda seconds: sess.run(count))
            hook.before_run(tf.train.SessionRunContext(None, sess))
            assert sess.run(tf.train.get_global_step()) == 2


def test_profiler_writes_a_trace_every_few_steps(tmp_path):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1, name="train")
    hook = tf.train.ProfilerHook(save_steps=3, output_dir=tmp_path)
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(8):
            session.run(train)
    tf.summary.FileWriterCache.clear()
    traces = sorted(path.name for path in tmp_path.glob("timeline-*.json"))
    events = [
        event.tagged_run_metadata.tag
        for path in tmp_path.glob("events.*")
        for event in tf.train.summary_iterator(str(path))
        if event.WhichOneof("what") == "tagged_run_metadata"
    ]
    assert traces == [f"timeline-{number}.json" for number in (3, 6)]
    assert events == ["step_3", "step_6"]
    names = [
        event["args"]["name"]
        for event in json.loads((tmp_path / traces[0]).read_text())["traceEvents"]
        if event["ph"] == "X"
    ]
    assert "train" in names
