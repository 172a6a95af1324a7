"""Every reader accepts URLs of each kind of storage."""

from tests.io.storage.server import Server

import headrace as hr
import headrace.tf1 as tf


def test_file_urls_are_paths(tmp_path):
    path = tmp_path / "a file%.txt"
    path.write_bytes(b"one\ntwo\n")
    url = path.as_uri()
    assert url.startswith("file:///")
    assert "%20" in url
    assert [example["text"] for example in hr.text_lines(url)] == [b"one", b"two"]
    with tf.gfile.GFile(url) as file:
        assert file.read() == "one\ntwo\n"
    assert tf.gfile.Stat(url).length == 8
    with tf.gfile.GFile(url, "a") as file:
        file.write("three")
    assert path.read_bytes() == b"one\ntwo\nthree"
    keys, values = [], []
    reader = tf.TextLineReader()
    key, value = reader.read(tf.train.string_input_producer([url], num_epochs=1))
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with tf.train.Coordinator().stop_on_exception():
            threads = tf.train.start_queue_runners(sess)
            for _ in range(3):
                completed = sess.run([key, value])
                keys.append(completed[0])
                values.append(completed[1])
        for thread in threads:
            thread.join()
    assert values == [b"one", b"two", b"three"]
    assert keys[0] == f"{url}:1".encode()


def test_large_directory_is_listed_by_page_and_detected_by_its_first_page(server: Server):
    server.max_listed = 10
    server.files = {f"bucket/many/{number:02}": b"x" for number in range(25)}
    names = [f"{number:02}" for number in range(25)]
    assert tf.gfile.ListDirectory("s3://bucket/many") == names
    assert len(server.requests) == 1 + 3  # The first request is whether there is such a directory.
    for call in (tf.gfile.IsDirectory, tf.gfile.Exists):
        server.requests.clear()
        assert call("s3://bucket/many")
        assert sum("list-type" in request[1] for request in server.requests) == 1
    assert not tf.gfile.IsDirectory("s3://bucket/man")
    assert not tf.gfile.IsDirectory(f"{server.url}/bucket/many")
