"""Files and states that TensorFlow wrote, as described in `tensorflow/README.md`."""

import gzip
import zlib
from pathlib import Path

import pytest

import headrace.tf1 as tf

MADE = Path(__file__).parent / "made_by_tensorflow"
RECORDS = [b"", b"one", b"\x00\xff" * 20, b"the last one"]
FILES = [
    ("records", "", RECORDS),
    ("records.gz", "GZIP", RECORDS),
    ("records.zlib", "ZLIB", RECORDS),
    ("fast.gz", "GZIP", RECORDS),
    ("stored.zlib", "ZLIB", RECORDS),
    ("members.gz", "GZIP", RECORDS * 2),
    ("open.gz", "GZIP", RECORDS),
]


@pytest.mark.parametrize(("name", "compression", "records"), FILES)
def test_file_written_by_tensorflow_is_read(name, compression, records, reading):
    path = MADE / f"{name}.tfrecord"
    options = tf.python_io.TFRecordOptions(compression)
    assert list(tf.python_io.tf_record_iterator(path, options)) == records
    one = reading(lambda: tf.TFRecordReader(options=options), [path])
    offsets = [sum(len(record) + 16 for record in records[:n]) for n in range(len(records))]
    assert one.read_all() == [
        (b"%s:%d" % (bytes(path), offset), record)
        for offset, record in zip(offsets, records, strict=True)
    ]


@pytest.mark.parametrize(("name", "compression", "records"), FILES[:3])
def test_written_files_match_tensorflow_byte_for_byte(name, compression, records, tmp_path):
    with tf.python_io.TFRecordWriter(tmp_path / "ours", compression) as writer:
        for record in records:
            writer.write(record)
    ours, theirs = (tmp_path / "ours").read_bytes(), (MADE / f"{name}.tfrecord").read_bytes()
    # The compressed size may differ, but the header and the content must be equal.
    unpack = {"": bytes, "GZIP": gzip.decompress, "ZLIB": zlib.decompress}[compression]
    assert unpack(ours) == unpack(theirs)
    assert ours[:2] == theirs[:2]


@pytest.mark.parametrize(
    ("name", "make"), [("identity", tf.IdentityReader), ("whole_file", tf.WholeFileReader)]
)
def test_states_match_tensorflow(name, make, reading, make_file, monkeypatch):
    monkeypatch.chdir(make_file("one", b"1").parent)
    make_file("two", b"2")
    theirs = (MADE / f"{name}.state").read_bytes()
    one = reading(make, ["one", "two"])
    one.read_up_to(1)
    one.read_up_to(1)
    assert one.state() == theirs
    other = reading(make, ["two"])
    other.restore(theirs)
    assert other.counts() == (2, 2)
    assert other.read()[0] == b"two"
    assert other.counts() == (3, 3)
