"""Writes records and pipelines to URLs, tested with moto."""

import numpy as np
import pytest
from tests.cli.files import call

import headrace as hr
from headrace.core import errors
from headrace.io import storage
from headrace.io.compression import TFRecordCompressionType, TFRecordOptions
from headrace.io.records import TFRecordWriter, tf_record_iterator


def test_records_are_written_and_read(bucket):
    for options in (None, TFRecordOptions(TFRecordCompressionType.GZIP)):
        with TFRecordWriter(f"{bucket}/train/a", options) as writer:
            for number in range(1000):
                writer.write(b"%d" % number)
        expected = [b"%d" % number for number in range(1000)]
        assert list(tf_record_iterator(f"{bucket}/train/a", options)) == expected
        compression = None if options is None else "gzip"
        pipeline = hr.tfrecords(f"{bucket}/train/*", compression)
        assert [example["record"] for example in pipeline] == expected


def test_file_is_uploaded_on_flush_or_close(bucket):
    writer = TFRecordWriter(f"{bucket}/a")
    writer.write(b"1")
    assert not storage.exists(f"{bucket}/a")
    writer.flush()
    assert list(tf_record_iterator(f"{bucket}/a")) == [b"1"]
    writer.write(b"2")
    writer.close()
    assert list(tf_record_iterator(f"{bucket}/a")) == [b"1", b"2"]


@pytest.mark.parametrize("ending", ["tfrecord", "tfrecord.gz", "jsonl", "parquet", "tar"])
def test_pipeline_is_written_in_shards(bucket, ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipe = hr.arrays({"n": np.arange(10)}).shuffle(seed=1)
    if ending == "tar":
        pipe = pipe.map(lambda example: {"__key__": str(example["n"]), "n": str(example["n"])})
    paths = pipe.write(f"{bucket}/out/{{shard}}.{ending}", num_shards=3)
    assert paths == [f"{bucket}/out/{number}.{ending}" for number in range(3)]
    local = pipe.write(f"{{shard}}.{ending}", num_shards=3)
    for path, name in zip(paths, local, strict=True):
        with storage.open_file(path) as file, open(name, "rb") as expected:
            assert file.read() == expected.read()
    assert storage.matching(f"{bucket}/out/*") == paths
    with pytest.raises(errors.AlreadyExistsError, match=f"{bucket}/out/0.{ending} already exists"):
        pipe.write(f"{bucket}/out/{{shard}}.{ending}", num_shards=3)


def test_files_are_converted_to_urls(bucket, tmp_path):
    table, output = tmp_path / "a.csv", f"{bucket}/out/b.tfrecord"
    table.write_text("n\n" + "".join(f"{n}\n" for n in range(10)))
    for options in (["--shards", "3"], ["--shards", "2", "--overwrite"]):
        done = call("convert", table, output, *options)
        assert (done.exit_code, done.stderr) == (0, "")
        assert f"10 examples in {options[1]} files: {bucket}/out/b-00000" in done.stdout
        assert len(storage.matching(f"{bucket}/out/*")) == int(options[1])
        examples = hr.tfrecords(f"{bucket}/out/b-*").parse({"n": int})
        assert [int(example["n"]) for example in examples] == list(range(10))
    done = call("convert", table, output, "--shards", "2")
    assert done.exit_code == 1
    assert f"{bucket}/out/b-00000-of-00002.tfrecord already exists" in done.stderr
    assert call("convert", table, f"{bucket}/c.tfrecord.gz").exit_code == 0
    assert storage.exists(f"{bucket}/c.tfrecord.gz")


def test_interrupted_write_continues_after_the_last_shard(bucket):
    fails = [True]

    def failing(example):
        if fails and example["n"] == 7:
            raise RuntimeError("not yet")
        return example

    pipe = hr.arrays({"n": np.arange(10)}).map(failing)
    path = f"{bucket}/out-{{shard}}.jsonl"
    with pytest.raises(RuntimeError, match="not yet"):
        pipe.write(path, num_shards=5)
    assert storage.exists(f"{bucket}/out-2.jsonl")
    assert not storage.exists(f"{bucket}/out-3.jsonl")
    fails.clear()
    paths = pipe.write(path, num_shards=5, resume=True)
    results = [example["n"] for example in hr.json_lines(paths)]
    assert results == list(range(10))
    assert pipe.write(path, num_shards=5, resume=True) == paths
    storage.remove(paths[1])
    with pytest.raises(errors.FailedPreconditionError, match="the file has changed since"):
        pipe.write(path, num_shards=5, resume=True)


def test_failed_write_leaves_no_object(bucket, s3):
    def failing(example):
        if example["n"] == 5:
            raise RuntimeError("broken")
        return {"x": b"x" * (4 << 20)}

    with pytest.raises(RuntimeError, match="broken"):
        hr.arrays({"n": np.arange(9)}).map(failing).write(f"{bucket}/out.tfrecord")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket.split("/")[2])
    assert not s3.list_multipart_uploads(Bucket=bucket.split("/")[2]).get("Uploads")


def test_large_shard_is_uploaded_in_parts(bucket, s3):
    pipe = hr.arrays({"n": np.arange(5)}).map(lambda example: {"record": b"x" * (4 << 20)})
    (path,) = pipe.write(f"{bucket}/out.tfrecord")
    assert len(list(hr.tfrecords(path))) == 5
    tag = s3.head_object(Bucket=bucket.split("/")[2], Key="out.tfrecord")["ETag"]
    assert tag.endswith('-3"')  # three parts


@pytest.mark.parametrize("root", ["http://127.0.0.1:1", "hf://datasets/a/b"])
def test_writing_to_unsupported_storage_is_rejected(root):
    with pytest.raises(errors.UnimplementedError, match="headrace cannot write"):
        hr.arrays([1]).write(f"{root}/a.jsonl")


def test_writing_over_http_is_rejected(bucket):
    with pytest.raises(errors.UnimplementedError, match="headrace cannot write over HTTP"):
        TFRecordWriter("http://127.0.0.1:1/a")
