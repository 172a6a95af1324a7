"""No answer of a server takes more memory or time than the request allows."""

import pytest
from tests.io.storage.server import (
    Server,
)

import headrace.tf1 as tf
from headrace.core import errors

LINES = [b"%d " % number * 30 for number in range(25_000)]
DATA = b"\n".join(LINES)


@pytest.mark.parametrize("data", [DATA, b"", b"one"])
def test_chunked_file_without_a_length_is_read(server: Server, data):
    server.has_ranges, server.has_lengths = False, False
    server.files["a"] = data
    url = f"{server.url}/a"
    with tf.gfile.GFile(url, "rb") as file:
        assert file.read() == data
        with pytest.raises(
            errors.FailedPreconditionError, match=r"no Content-Length header\)\. Copy"
        ):
            file.size()
    with tf.Session() as sess:
        assert sess.run(tf.read_file(url)) == data
    assert tf.gfile.Exists(url)
    with pytest.raises(
        errors.FailedPreconditionError, match="does not report the length of the file"
    ):
        tf.gfile.Stat(url)
