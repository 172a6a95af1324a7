"""Files that are truncated while they are read: half a line never counts as a line."""

import os

import pytest

import headrace.tf1 as tf

LINES = [b"line %d" % number for number in range(100_000)]


def test_text_file_truncated_while_open_is_an_error(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\n".join(LINES))
    length = path.stat().st_size
    names = tf.FIFOQueue(1, [tf.string], [[]])
    line = tf.TextLineReader().read(names).value
    read = []
    with tf.Session() as session:
        session.run([names.enqueue(str(path)), names.close()])
        read.append(session.run(line))
        os.truncate(path, length - 3)
        message = f"{path}.*the file changed while it was read .it has {length - 3} bytes, but had"
        with pytest.raises(tf.errors.AbortedError, match=message):
            read.extend(iter(lambda: session.run(line), None))
    assert read == LINES[: len(read)]
    assert len(read) >= len(LINES) - 2
