"""Writers, savers, event files and `tf.gfile` at URLs, against moto's S3."""

import os

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.core import errors
from headrace.io import storage


def test_file_longer_than_an_upload_part_is_written(bucket):
    data = np.random.default_rng(1).bytes(20 << 20)
    with tf.gfile.GFile(f"{bucket}/large", "wb") as file:
        file.write(data)
    with storage.open_file(f"{bucket}/large") as file:
        assert file.read() == data
        file.seek(19 << 20)
        assert file.read(10) == data[19 << 20 :][:10]
        file.seek(5)
        assert file.read(10) == data[5:15]


def test_gfile_reads_writes_and_lists(bucket):
    gfile = tf.gfile
    gfile.MakeDirs(f"{bucket}/a/b")
    with gfile.GFile(f"{bucket}/a/b/1.txt", "w") as file:
        file.write("one\ntwo\n")
        file.flush()
        assert gfile.Stat(f"{bucket}/a/b/1.txt").length == 8
    with gfile.GFile(f"{bucket}/a/b/1.txt", "a") as file:
        file.write("three\n")
    with gfile.GFile(f"{bucket}/a/b/1.txt") as file:
        assert file.size() == 14
        assert list(file) == ["one\n", "two\n", "three\n"]
    gfile.Copy(f"{bucket}/a/b/1.txt", f"{bucket}/a/2.txt")
    with pytest.raises(errors.AlreadyExistsError):
        gfile.Copy(f"{bucket}/a/b/1.txt", f"{bucket}/a/2.txt")
    gfile.Rename(f"{bucket}/a/2.txt", f"{bucket}/a/3.txt")
    assert gfile.ListDirectory(f"{bucket}/a") == ["3.txt", "b"]
    assert gfile.Exists(f"{bucket}/a")
    assert gfile.IsDirectory(f"{bucket}/a")
    assert gfile.Exists(f"{bucket}/a/3.txt")
    assert not gfile.IsDirectory(f"{bucket}/a/3.txt")
    assert not gfile.Exists(f"{bucket}/a/2.txt")
    assert gfile.Stat(f"{bucket}/a").is_directory
    assert gfile.Stat(f"{bucket}/a/3.txt").mtime_nsec > 0
    assert gfile.Glob(f"{bucket}/a/*.txt") == [f"{bucket}/a/3.txt"]
    assert gfile.Glob(f"{bucket}/*/?/*") == [f"{bucket}/a/b/1.txt"]
    walked = [(f"{bucket}/a", ["b"], ["3.txt"]), (f"{bucket}/a/b", [], ["1.txt"])]
    assert list(gfile.Walk(f"{bucket}/a")) == walked
    assert list(gfile.Walk(f"{bucket}/a", in_order=False)) == walked[::-1]
    gfile.Remove(f"{bucket}/a/3.txt")
    for call in (gfile.Remove, gfile.Stat, gfile.ListDirectory, gfile.DeleteRecursively):
        with pytest.raises(errors.NotFoundError):
            call(f"{bucket}/a/3.txt")
    gfile.DeleteRecursively(f"{bucket}/a")
    assert not gfile.Exists(f"{bucket}/a")


def test_files_move_between_this_machine_and_a_bucket(bucket, tmp_path):
    (tmp_path / "a").write_bytes(b"data")
    tf.gfile.Copy(str(tmp_path / "a"), f"{bucket}/a")
    tf.gfile.Rename(f"{bucket}/a", str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == b"data"
    assert not storage.exists(f"{bucket}/a")


def test_checkpoints_are_saved_and_restored(bucket):
    variable = tf.Variable([1.0, 2.0], name="weights")
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            sess.run(variable.assign([step, 2.0]))
            saver.save(sess, f"{bucket}/run/model", global_step=step)
    latest = tf.train.latest_checkpoint(f"{bucket}/run")
    assert latest == f"{bucket}/run/model-3"
    assert tf.train.get_checkpoint_mtimes([latest, f"{bucket}/run/model-0"]) > [0]
    kept = {name.split(".")[0] for name in tf.gfile.ListDirectory(f"{bucket}/run")}
    assert kept == {"checkpoint", "model-2", "model-3"}
    with tf.Session() as sess:
        saver.restore(sess, latest)
        assert sess.run(variable).tolist() == [3.0, 2.0]
    assert tf.train.list_variables(f"{bucket}/run") == [("weights", [2])]


def test_event_files_are_written(bucket):
    with tf.summary.FileWriter(f"{bucket}/events") as writer:
        for step in range(3):
            writer.add_summary(tf.Summary(value=[{"tag": "x", "simple_value": step}]), step)
    (path,) = tf.gfile.Glob(f"{bucket}/events/events.out.*")
    steps = [event.step for event in tf.train.summary_iterator(path)]
    assert steps == [0, 0, 1, 2]


def test_operations_read_and_write_whole_files(bucket):
    write = tf.write_file(f"{bucket}/deep/a", "data")
    with tf.Session() as sess:
        sess.run(write)
        assert sess.run(tf.read_file(f"{bucket}/deep/a")) == b"data"
        assert sess.run(tf.matching_files(f"{bucket}/deep/*")).tolist() == [
            f"{bucket}/deep/a".encode()
        ]


def test_session_is_saved_and_restored_in_the_middle_of_a_remote_file(bucket, tmp_path):
    from headrace.tf1 import checkpoint  # noqa: PLC0415

    with tf.gfile.GFile(f"{bucket}/lines", "w") as file:
        file.write("".join(f"{number}\n" for number in range(100)))
    queue = tf.train.string_input_producer([f"{bucket}/lines"], shuffle=False)
    reader = tf.TextLineReader()
    _, value = reader.read(queue)
    path = os.fspath(tmp_path / "saved")
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(10):
            sess.run(value)
        checkpoint.save(sess, path)
        coord.request_stop()
        coord.join(threads)
    with tf.Session() as sess:
        checkpoint.restore(sess, path)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(value) == b"10"
        coord.request_stop()
        coord.join(threads)
