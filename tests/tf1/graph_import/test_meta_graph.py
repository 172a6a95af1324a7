"""`tf.train.import_meta_graph`: input pipelines from messages, with runners and variables."""

import subprocess
import sys

import numpy as np
import pytest

import headrace.tf1 as tf

RUN = """
import sys
import headrace.tf1 as tf

saver = tf.train.import_meta_graph(sys.argv[1], import_scope=sys.argv[2] or None)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    if saver is not None:
        saver.restore(session, sys.argv[3])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    try:
        while True:
            print(*session.run(tf.get_collection("batch")[0]).tolist())
    except tf.errors.OutOfRangeError:
        pass
    coord.request_stop()
    coord.join(threads)
"""


def build_input():
    """Batches of numbers times a variable."""
    factor = tf.get_variable("factor", [], tf.int32, tf.constant_initializer(1))
    number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch([number * factor], 4, allow_smaller_final_batch=True)
    tf.add_to_collection("batch", batch)


def run(*arguments):
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("scope", ["", "imported"])
def test_another_process_runs_an_input_from_its_file(tmp_path, scope):
    build_input()
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.assign(tf.global_variables()[0], 10))
        prefix = saver.save(session, tmp_path / "model")
    assert run(f"{prefix}.meta", scope, prefix) == ["0 10 20 30", "40 50"]


class TestCollections:
    def test_collections_round_trip(self, tmp_path):
        build_input()
        tf.add_to_collection("numbers", 3)
        tf.add_to_collection("shares", 0.5)
        tf.add_to_collection("words", "a")
        message = tf.train.export_meta_graph(tmp_path / "g.meta")
        tf.reset_default_graph()
        tf.train.import_meta_graph(tmp_path / "g.meta")
        assert tf.get_collection("numbers") == [3]
        assert tf.get_collection("shares") == [0.5]
        assert tf.get_collection("words") == [b"a"]
        (factor,) = tf.trainable_variables()
        assert factor is tf.global_variables()[0]
        assert factor.initial_value.op.name == "factor/Initializer/Const"
        assert len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)) == 2
        assert (
            tf.train.export_meta_graph().collection_def["variables"]
            == (message.collection_def["variables"])
        )

    def test_unrequested_collections_are_not_exported(self):
        build_input()
        message = tf.train.export_meta_graph(collection_list=["batch"])
        assert list(message.collection_def) == ["batch"]
        tf.reset_default_graph()
        assert tf.train.import_meta_graph(message) is None
        assert tf.global_variables() == []

    def test_collections_of_arbitrary_objects_are_omitted(self):
        tf.add_to_collection("objects", object())
        assert "objects" not in tf.train.export_meta_graph().collection_def


class TestFiles:
    def test_meta_graph_file_can_be_text(self, tmp_path):
        tf.constant(np.arange(3), name="c")
        tf.train.export_meta_graph(tmp_path / "g", as_text=True)
        assert b'name: "c"' in (tmp_path / "g").read_bytes()
        tf.reset_default_graph()
        tf.train.import_meta_graph(str(tmp_path / "g"))
        assert tf.get_default_graph().get_tensor_by_name("c:0").shape == [3]

    def test_missing_or_damaged_meta_graph_files_are_rejected(self, tmp_path):
        with pytest.raises(OSError, match="nope does not exist"):
            tf.train.import_meta_graph(tmp_path / "nope")
        (tmp_path / "bad").write_bytes(b"\xff\xfe what")
        with pytest.raises(OSError, match=r"Cannot parse file .*bad"):
            tf.train.import_meta_graph(tmp_path / "bad")

    def test_meta_graph_files_of_savers_omit_large_constants(self, tmp_path):
        tf.constant(np.zeros(100_000), name="large")
        tf.get_variable("v", [])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            prefix = tf.train.Saver().save(session, tmp_path / "m")
        tf.train.export_meta_graph(tmp_path / "whole.meta")
        tf.reset_default_graph()
        with pytest.raises(ValueError, match="'large': the message lacks the constant's value"):
            tf.train.import_meta_graph(f"{prefix}.meta")
        tf.reset_default_graph()
        assert tf.train.import_meta_graph(tmp_path / "whole.meta") is not None


def test_devices_are_kept_or_cleared():
    with tf.device("/cpu:0"):
        tf.constant(1, name="c")
    for clear, device in ((False, "/device:CPU:0"), (True, "")):
        message = tf.train.export_meta_graph()
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(message, clear_devices=clear)
            assert graph.get_operation_by_name("c").device == device
    assert tf.train.export_meta_graph(clear_devices=True).graph_def.node[0].device == ""


def test_conditions_and_selected_queues_round_trip():
    queues = [tf.FIFOQueue(2, tf.int32, [()], name=name) for name in "ab"]
    fill = tf.group(*(queue.enqueue(n) for n, queue in enumerate(queues)), name="fill")
    which = tf.placeholder(tf.int32, [], name="which")
    taken = tf.QueueBase.from_list(which, queues).dequeue()
    tf.cond(taken > 0, lambda: taken * 10, lambda: taken - 1, name="cond")
    tf.get_default_graph().add_to_collection("out", tf.identity(taken, name="taken"))
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(message)
        session.run(fill.name)
        assert session.run("taken:0", {"which:0": 1}) == 1
        assert session.run("taken:0", {"which:0": 0}) == 0
