"""Writers, savers, event files and `tf.gfile` at URLs, against moto's S3."""

import os

import numpy as np
import pytest
from tests.cli.files import call

import headrace as hr
import headrace.tf1 as tf
from headrace.core import errors


def test_records_are_written_and_read(bucket):
    for options in (None, tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)):
        with tf.python_io.TFRecordWriter(f"{bucket}/train/a", options) as writer:
            for number in range(1000):
                writer.write(b"%d" % number)
        expected = [b"%d" % number for number in range(1000)]
        assert list(tf.python_io.tf_record_iterator(f"{bucket}/train/a", options)) == expected
        compression = None if options is None else "gzip"
        pipeline = hr.tfrecords(f"{bucket}/train/*", compression)
        assert [example["record"] for example in pipeline] == expected


def test_a_file_longer_than_a_part_of_an_upload_is_written(bucket):
    data = np.random.default_rng(1).bytes(20 << 20)
    with tf.gfile.GFile(f"{bucket}/large", "wb") as file:
        file.write(data)
    with tf.gfile.GFile(f"{bucket}/large", "rb") as file:
        assert file.read() == data
        file.seek(19 << 20)
        assert file.read(10) == data[19 << 20 :][:10]
        file.seek(5)
        assert file.read(10) == data[5:15]


def test_nothing_is_uploaded_before_a_file_is_complete(bucket):
    writer = tf.python_io.TFRecordWriter(f"{bucket}/a")
    writer.write(b"1")
    assert not tf.gfile.Exists(f"{bucket}/a")
    writer.flush()
    assert list(tf.python_io.tf_record_iterator(f"{bucket}/a")) == [b"1"]
    writer.write(b"2")
    writer.close()
    assert list(tf.python_io.tf_record_iterator(f"{bucket}/a")) == [b"1", b"2"]


@pytest.mark.parametrize("ending", ["tfrecord", "tfrecord.gz", "jsonl", "parquet", "tar"])
def test_a_pipeline_is_written_in_shards(bucket, ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipe = hr.arrays({"n": np.arange(10)}).shuffle(seed=1)
    if ending == "tar":
        pipe = pipe.map(lambda example: {"__key__": str(example["n"]), "n": str(example["n"])})
    paths = pipe.write(f"{bucket}/out/{{shard}}.{ending}", num_shards=3)
    assert paths == [f"{bucket}/out/{number}.{ending}" for number in range(3)]
    local = pipe.write(f"{{shard}}.{ending}", num_shards=3)
    for path, name in zip(paths, local, strict=True):
        with tf.gfile.GFile(path, "rb") as file, open(name, "rb") as expected:
            assert file.read() == expected.read()
    listed = tf.gfile.ListDirectory(f"{bucket}/out")
    assert [name for name in listed if not name.startswith(".")] == [
        os.path.basename(path) for path in paths
    ]
    with pytest.raises(errors.AlreadyExistsError, match=f"{bucket}/out/0.{ending} exists already"):
        pipe.write(f"{bucket}/out/{{shard}}.{ending}", num_shards=3)


def test_files_are_converted_to_urls(bucket, tmp_path):
    table, output = tmp_path / "a.csv", f"{bucket}/out/b.tfrecord"
    table.write_text("n\n" + "".join(f"{n}\n" for n in range(10)))
    for options in (["--shards", "3"], ["--shards", "2", "--overwrite"]):
        done = call("convert", table, output, *options)
        assert (done.exit_code, done.stderr) == (0, "")
        assert f"10 examples in {options[1]} files: {bucket}/out/b-00000" in done.stdout
        names = [name for name in tf.gfile.ListDirectory(f"{bucket}/out") if name[0] != "."]
        assert len(names) == int(options[1])
        examples = hr.tfrecords(f"{bucket}/out/b-*").parse({"n": int})
        assert [int(example["n"]) for example in examples] == list(range(10))
    done = call("convert", table, output, "--shards", "2")
    assert done.exit_code == 1
    assert f"{bucket}/out/b-00000-of-00002.tfrecord: it exists already" in done.stderr
    assert call("convert", table, f"{bucket}/c.tfrecord.gz").exit_code == 0
    assert tf.gfile.Exists(f"{bucket}/c.tfrecord.gz")


def test_an_interrupted_write_continues_after_the_last_shard(bucket):
    fails = [True]

    def failing(example):
        if fails and example["n"] == 7:
            raise RuntimeError("not yet")
        return example

    pipe = hr.arrays({"n": np.arange(10)}).map(failing)
    path = f"{bucket}/out-{{shard}}.jsonl"
    with pytest.raises(RuntimeError, match="not yet"):
        pipe.write(path, num_shards=5)
    assert tf.gfile.Exists(f"{bucket}/out-2.jsonl")
    assert not tf.gfile.Exists(f"{bucket}/out-3.jsonl")
    fails.clear()
    paths = pipe.write(path, num_shards=5, resume=True)
    found = [example["n"] for example in hr.json_lines(paths)]
    assert found == list(range(10))
    assert pipe.write(path, num_shards=5, resume=True) == paths
    tf.gfile.Remove(paths[1])
    with pytest.raises(errors.FailedPreconditionError, match="the file is not like that any more"):
        pipe.write(path, num_shards=5, resume=True)


def test_a_failed_write_leaves_no_object(bucket, s3):
    def failing(example):
        if example["n"] == 5:
            raise RuntimeError("broken")
        return {"x": b"x" * (4 << 20)}

    with pytest.raises(RuntimeError, match="broken"):
        hr.arrays({"n": np.arange(9)}).map(failing).write(f"{bucket}/out.tfrecord")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket.split("/")[2])
    assert not s3.list_multipart_uploads(Bucket=bucket.split("/")[2]).get("Uploads")


def test_a_large_shard_is_uploaded_in_parts(bucket, s3):
    pipe = hr.arrays({"n": np.arange(5)}).map(lambda example: {"record": b"x" * (4 << 20)})
    (path,) = pipe.write(f"{bucket}/out.tfrecord")
    assert len(list(hr.tfrecords(path))) == 5
    tag = s3.head_object(Bucket=bucket.split("/")[2], Key="out.tfrecord")["ETag"]
    assert tag.endswith('-3"')  # three parts


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
    assert not tf.gfile.Exists(f"{bucket}/a")


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


def test_whole_files_are_read_and_written_by_operations(bucket):
    write = tf.write_file(f"{bucket}/deep/a", "data")
    with tf.Session() as sess:
        sess.run(write)
        assert sess.run(tf.read_file(f"{bucket}/deep/a")) == b"data"
        assert sess.run(tf.matching_files(f"{bucket}/deep/*")).tolist() == [
            f"{bucket}/deep/a".encode()
        ]


def test_a_session_is_saved_and_restored_in_the_middle_of_a_remote_file(bucket, tmp_path):
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


@pytest.mark.parametrize("root", ["http://127.0.0.1:1", "hf://datasets/a/b"])
def test_pipelines_are_not_written_where_files_cannot_be(root):
    with pytest.raises(errors.UnimplementedError, match="files are not written"):
        hr.arrays([1]).write(f"{root}/a.jsonl")


def test_files_are_not_written_over_http(bucket):
    with pytest.raises(errors.UnimplementedError, match="files are not written over HTTP"):
        tf.python_io.TFRecordWriter("http://127.0.0.1:1/a")
