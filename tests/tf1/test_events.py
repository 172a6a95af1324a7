"""Event files: written by `FileWriter`, read back by TensorBoard's own code."""

import io
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from PIL import Image
from tensorboard import context
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

import headrace.tf1 as tf


@pytest.fixture
def logdir(tmp_path):
    return tmp_path / "logs" / "run"


def tensorboard_s_view(logdir):
    """Returns the events that TensorBoard's loader reads from a directory."""
    view = EventAccumulator(str(logdir))
    view.Reload()
    return view


def scalars(view, tag):
    return [(event.step, event.value) for event in view.Scalars(tag)]


def summary(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def files(logdir):
    return sorted(path.name for path in logdir.iterdir())


def events(logdir):
    """The events after the one that names the version, of all files."""
    results = []
    for name in files(logdir):
        first, *rest = tf.train.summary_iterator(str(logdir / name))
        assert first.file_version == "brain.Event:2"
        results += rest
    return results


def test_tensorboard_shows_images(logdir):
    images = tf.placeholder(tf.uint8, [None, 4, 5, 3])
    summary = tf.summary.image("seen", images, max_outputs=2)
    with tf.Session() as session, tf.summary.FileWriter(logdir) as writer:
        for step in range(2):
            batch = np.full((3, 4, 5, 3), 10 * step, np.uint8)
            writer.add_summary(session.run(summary, {images: batch}), step)
    view = tensorboard_s_view(logdir)
    assert view.Tags()["images"] == ["seen/image/0", "seen/image/1"]
    shown = view.Images("seen/image/1")
    assert [(event.step, event.height, event.width) for event in shown] == [(0, 4, 5), (1, 4, 5)]
    pixels = np.asarray(Image.open(io.BytesIO(shown[1].encoded_image_string)))
    assert np.array_equal(pixels, np.full((4, 5, 3), 10))


def test_tensorboard_shows_queue_fill_levels(logdir):
    names = tf.train.string_input_producer(list("abcdefgh"), shuffle=False)
    batch = tf.train.shuffle_batch([names.dequeue()], 4, 32, 8, seed=1)
    merged = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(logdir) as writer:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for step in range(5):
            written, _ = session.run([merged, batch])
            writer.add_summary(written, step)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    tags = ["input_producer/fraction_of_32_full", "shuffle_batch/fraction_over_8_of_24_full"]
    view = tensorboard_s_view(logdir)
    assert sorted(view.Tags()["scalars"]) == tags
    for tag in tags:
        points = scalars(view, tag)
        assert [step for step, _ in points] == list(range(5))
        assert all(0 <= value <= 1 for _, value in points)


def test_tensorboard_server_loads_scalars_and_histograms(logdir):
    merged = tf.summary.merge(
        [tf.summary.scalar("loss", 0.5), tf.summary.histogram("weights", [1.0, 2.0])]
    )
    with tf.Session() as session, tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(session.run(merged), 7)
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(logdir.parent))
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(logdir.parent))
    request = {"experiment_id": "", "ctx": context.RequestContext()}
    result = provider.read_scalars(**request, plugin_name="scalars", downsample=10)
    assert [(point.step, point.value) for point in result["run"]["loss"]] == [(7, 0.5)]
    assert list(provider.list_tensors(**request, plugin_name="histograms")["run"]) == ["weights"]


def test_reader_follows_a_growing_file(logdir):
    with tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(summary("a", 1), 1)
        writer.flush()
        view = tensorboard_s_view(logdir)
        assert scalars(view, "a") == [(1, 1.0)]
        writer.add_summary(summary("a", 2), 2)
        writer.flush()
        view.Reload()
        assert scalars(view, "a") == [(1, 1.0), (2, 2.0)]


def test_events_are_flushed_after_a_while_when_others_arrive(logdir):
    with tf.summary.FileWriter(logdir, flush_secs=0) as writer:
        writer.add_summary(summary("a", 1), 1)
        assert len(events(logdir)) == 1
    slow = logdir / "slow"
    with tf.summary.FileWriter(slow, flush_secs=3600) as writer:
        writer.add_summary(summary("a", 1), 1)
        assert events(slow) == []
    assert len(events(slow)) == 1


def test_file_name_matches_the_pattern_of_tensorboard(logdir):
    with tf.summary.FileWriter(logdir, filename_suffix=".eval") as writer:
        assert writer.get_logdir() == str(logdir)
        (name,) = files(logdir)
    assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\..*\.eval", name)


def test_writers_created_in_one_second_have_separate_files(logdir):
    with tf.summary.FileWriter(logdir) as one, tf.summary.FileWriter(logdir) as other:
        one.add_summary(summary("a", 1))
        other.add_summary(summary("b", 2))
    assert len(files(logdir)) == 2
    assert sorted(event.summary.value[0].tag for event in events(logdir)) == ["a", "b"]


def test_summaries_can_be_messages_or_bytes_with_or_without_a_step(logdir):
    message = summary("a", 1)
    with tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(message, 5)
        writer.add_summary(message.SerializeToString())
        writer.add_event(tf.Event(wall_time=1.5, step=2, summary=message))
    first, second, third = events(logdir)
    assert [event.step for event in (first, second, third)] == [5, 0, 2]
    assert first.summary == second.summary == third.summary == message
    assert 0 < first.wall_time <= second.wall_time
    assert third.wall_time == 1.5


def test_session_start_discards_later_steps(logdir):
    with tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(summary("a", 1), 1)
        writer.add_summary(summary("a", 2), 2)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 2)
        writer.add_summary(summary("a", 3), 2)
    assert scalars(tensorboard_s_view(logdir), "a") == [(1, 1.0), (2, 3.0)]


@pytest.mark.parametrize("describe", [lambda graph: graph, lambda graph: graph.as_graph_def()])
def test_graph_is_written_with_names_types_and_inputs(logdir, describe):
    one = tf.constant(1, name="one")
    with tf.control_dependencies([one]):
        tf.add(one, one, name="two")
    with tf.summary.FileWriter(logdir, describe(tf.get_default_graph())):
        pass
    nodes = {node.name: node for node in tensorboard_s_view(logdir).Graph().node}
    assert nodes["one"].op == "Const"
    assert list(nodes["two"].input)[:2] == ["one", "one"]


def test_invalid_summaries_and_graphs_are_rejected(logdir):
    with tf.summary.FileWriter(logdir) as writer:
        with pytest.raises(TypeError, match="summary has type str, expected Summary or bytes"):
            writer.add_summary("text")
        with pytest.raises(TypeError, match="The passed graph must be an instance of `Graph`"):
            writer.add_graph(3)
        graph = tf.get_default_graph()
        with pytest.raises(ValueError, match="Please pass only graph, or graph_def"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
    assert events(logdir) == []


def test_closed_writer_warns_until_reopened(logdir):
    writer = tf.summary.FileWriter(logdir)
    writer.add_summary(summary("a", 1), 1)
    writer.close()
    writer.close()
    writer.flush()
    with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
        writer.add_summary(summary("a", 2), 2)
    writer.reopen()
    writer.add_summary(summary("a", 3), 3)
    writer.close()
    assert len(files(logdir)) == 2
    assert scalars(tensorboard_s_view(logdir), "a") == [(1, 1.0), (3, 3.0)]


def test_abandoned_writer_loses_nothing(logdir):
    writer = tf.summary.FileWriter(logdir)
    writer.add_summary(summary("a", 1), 1)
    reference = weakref.ref(writer)
    del writer
    assert reference() is None
    assert len(events(logdir)) == 1


def test_program_that_exits_without_closing_its_writer_loses_nothing(logdir):
    program = (
        "import sys, headrace.tf1 as tf\n"
        "writer = tf.summary.FileWriter(sys.argv[1])\n"
        "value = tf.Summary.Value(tag='a', simple_value=1)\n"
        "writer.add_summary(tf.Summary(value=[value]), 1)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(logdir)], check=True, timeout=30)
    assert len(events(logdir)) == 1


def test_many_threads_write_to_one_file(logdir):
    def write(number):
        for step in range(100):
            writer.add_summary(summary(f"t{number}", step), step)

    with tf.summary.FileWriter(logdir) as writer:
        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    view = tensorboard_s_view(logdir)
    for number in range(4):
        assert scalars(view, f"t{number}") == [(step, float(step)) for step in range(100)]


def test_missing_file_is_an_error_at_the_first_event(tmp_path):
    iterator = tf.train.summary_iterator(tmp_path / "none")
    with pytest.raises(tf.errors.NotFoundError):
        next(iterator)


def test_error_names_a_record_that_is_not_an_event(tmp_path):
    path = tmp_path / "events.out.tfevents.0.host"
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(tf.Event(step=1).SerializeToString())
        writer.write(b"\x0a")
    iterator = tf.train.summary_iterator(path)
    assert next(iterator).step == 1
    with pytest.raises(tf.errors.DataLossError, match="host: record 1 is not an event"):
        next(iterator)


def test_uncreatable_directory_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file is not a directory"):
        tf.summary.FileWriter(tmp_path / "file")


def test_incomplete_event_file_raises_an_error(logdir):
    program = f"""
import resource
import headrace.tf1 as tf

writer = tf.summary.FileWriter({str(logdir)!r})
writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a" * 4000)]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    writer.close()
except tf.errors.OpError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "File too large" in done.stdout
