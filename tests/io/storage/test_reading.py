"""Every reader accepts URLs of each kind of storage."""

import gzip
import io
import signal
import subprocess
import sys
import tarfile
import threading
from http import HTTPStatus

import numpy as np
import pytest
from tests.archives import add_members
from tests.io.storage.server import Server, stalls

import headrace as hr
from headrace.core import errors
from headrace.io import storage
from headrace.io.records import TFRecordWriter, tf_record_iterator

ROOTS = ("s3://bucket", "gs://bucket", "az://bucket")


def records(tmp_path, count: int, start: int = 0) -> bytes:
    """Returns a record file with numbers and additional bytes."""
    path = tmp_path / "records"
    with TFRecordWriter(str(path)) as writer:
        for number in range(start, start + count):
            writer.write(b"%d " % number + bytes(number % 50))
    return path.read_bytes()


def numbers(pipeline) -> list[int]:
    return [int(example["record"].split()[0]) for example in pipeline]


@pytest.mark.parametrize("root", [*ROOTS, "http"])
def test_records_are_read_in_order_from_each_storage(server: Server, tmp_path, root):
    server.files["bucket/a"] = records(tmp_path, 30_000)
    server.files["bucket/b"] = records(tmp_path, 100, 30_000)
    root = f"{server.url}/bucket" if root == "http" else root
    pipeline = hr.tfrecords([f"{root}/a", f"{root}/b"])
    assert numbers(pipeline) == list(range(30_100))
    assert len(server.files["bucket/a"]) > 1 << 20


@pytest.mark.parametrize("root", [*ROOTS, "http"])
def test_all_records_can_be_shuffled(server: Server, tmp_path, root):
    server.files["bucket/a"] = records(tmp_path, 2000)
    server.files["bucket/b"] = records(tmp_path, 10, 2000)
    root = f"{server.url}/bucket" if root == "http" else root
    result = numbers(hr.tfrecords([f"{root}/a", f"{root}/b"]).shuffle(seed=3))
    (tmp_path / "a").write_bytes(server.files["bucket/a"])
    (tmp_path / "b").write_bytes(server.files["bucket/b"])
    local = hr.tfrecords([tmp_path / "a", tmp_path / "b"]).shuffle(seed=3)
    assert result == numbers(local)


def test_server_without_ranges_supports_sequential_reading_only(server: Server, tmp_path):
    server.has_ranges = False
    server.files["a"] = records(tmp_path, 30_000)
    server.files["b.gz"] = gzip.compress(b"x\ny\n" * 1000)
    assert numbers(hr.tfrecords(f"{server.url}/a")) == list(range(30_000))
    assert len(list(hr.text_lines(f"{server.url}/b.gz", "auto"))) == 2000
    with pytest.raises(errors.UnimplementedError, match="records cannot be accessed at random"):
        list(hr.tfrecords(f"{server.url}/a").shuffle(seed=1))


def test_url_query_is_sent_to_the_server(server: Server, tmp_path):
    server.files["a"] = records(tmp_path, 10)
    assert numbers(hr.tfrecords(f"{server.url}/a?signature=x%2Fy&b=*")) == list(range(10))
    assert all(path == "/a?signature=x%2Fy&b=*" for _, path, _ in server.requests)


def test_files_can_be_empty_or_as_long_as_a_part(server: Server):
    for length in (0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20):
        data = np.random.default_rng(length).bytes(length)
        server.files["bucket/a"] = data
        assert storage.open_file("s3://bucket/a").read() == data, length
        (example,) = hr.files("s3://bucket/a")
        assert example["data"] == data


def test_every_format_is_read(server: Server, tmp_path):
    def lines(pipeline):
        return [list(example.values()) for example in pipeline]

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        add_members(
            writer, [("1.txt", b"one"), ("1.cls", b"1"), ("2.txt", b"two"), ("2.cls", b"2")]
        )
    server.files |= {
        "bucket/a.csv": b"x,y\n1,a\n2,b\n",
        "bucket/a.jsonl": b'{"x": 1}\n{"x": 2}\n',
        "bucket/a.txt": b"one\ntwo\n",
        "bucket/a.bin": b"aabbcc",
        "bucket/a.tar": archive.getvalue(),
        "bucket/a.csv.gz": gzip.compress(b"x,y\n1,a\n2,b\n"),
    }
    assert lines(hr.csv("s3://bucket/a.csv")) == [[1, "a"], [2, "b"]]
    assert lines(hr.csv("s3://bucket/a.csv.gz", compression="auto")) == [[1, "a"], [2, "b"]]
    assert lines(hr.json_lines("s3://bucket/a.jsonl")) == [[1], [2]]
    assert lines(hr.text_lines("s3://bucket/a.txt")) == [[b"one"], [b"two"]]
    assert lines(hr.fixed_length_records("s3://bucket/a.bin", 2)) == [[b"aa"], [b"bb"], [b"cc"]]
    samples = [example["txt"] for example in hr.webdataset("s3://bucket/a.tar")]
    assert samples == [b"one", b"two"]


def test_braces_expand_to_several_urls(server: Server):
    for number in range(3):
        server.files[f"bucket/s-{number:02}.txt"] = b"%d\n" % number

    def texts(url):
        return [example["text"] for example in hr.text_lines(url)]

    assert texts("s3://bucket/s-{00..02}.txt") == [b"0", b"1", b"2"]
    assert texts("s3://bucket/s-0{[12],0}.txt") == [b"1", b"2", b"0"]
    with pytest.raises(errors.NotFoundError, match=r"s-03\.txt"):
        texts("s3://bucket/s-{02..03}.txt")
    server.files["bucket/s-{00..02}.txt"] = b"mine\n"
    assert texts("s3://bucket/s-{00..02}.txt") == [b"mine"]


def test_marker_files_of_other_tools_are_omitted(server: Server):
    for name in ("part-0", "_SUCCESS", "_committed_1", ".part-0.crc"):
        server.files[f"bucket/out/{name}"] = b"x\n"
    for url in ("s3://bucket/out", "s3://bucket/out/*"):
        assert len(list(hr.text_lines(url))) == 1


def test_parquet_is_read(server: Server, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": list(range(1000))}), tmp_path / "a")
    server.files["bucket/a"] = (tmp_path / "a").read_bytes()
    assert [example["x"] for example in hr.parquet("s3://bucket/a")] == list(range(1000))


@pytest.mark.parametrize("root", [*ROOTS, "http"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_files_and_streams_are_read(server: Server, tmp_path, root, kind):
    arrow = pytest.importorskip("pyarrow")
    for number in range(2):
        first = 1000 * number
        table = arrow.table({"x": list(range(first, first + 1000)), "s": ["text"] * 1000})
        make = arrow.ipc.new_file if kind == "file" else arrow.ipc.new_stream
        with make(tmp_path / "a", table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
        server.files[f"bucket/{number}"] = (tmp_path / "a").read_bytes()
    root = f"{server.url}/bucket" if root == "http" else root
    pipeline = hr.arrow([f"{root}/0", f"{root}/1"])
    assert [example["x"] for example in pipeline] == list(range(2000))
    assert len(pipeline) == 2000
    # Only parts of files were requested.
    assert all(part is not None for _, _, part in server.data_requests())
    shuffled = [int(example["x"]) for example in pipeline.shuffle(seed=1)]
    assert sorted(shuffled) == list(range(2000)) != shuffled
    result = hr.arrow(f"{root}/1", ["x"], where=[("x", "<", 1010)])
    assert [example["x"] for example in result] == list(range(1000, 1010))


@pytest.mark.parametrize("cut", [1, 100])
def test_truncated_arrow_file_is_an_error(server: Server, tmp_path, cut):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"x": list(range(1000))})
    with arrow.ipc.new_file(tmp_path / "a", table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    server.files["bucket/a"] = (tmp_path / "a").read_bytes()[:-cut]
    with pytest.raises(errors.DataLossError, match=r"s3://bucket/a: .* is cut short"):
        list(hr.arrow("s3://bucket/a"))


def test_partition_directories_become_columns(server: Server, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for year in (2020, 2021):
        parquet.write_table(arrow.table({"x": [year + 1]}), tmp_path / "a")
        server.files[f"bucket/t/year={year}/lang=d e/a"] = (tmp_path / "a").read_bytes()
        server.files[f"bucket/t/year={year}/_SUCCESS"] = b""
    server.files["bucket/t/other/a"] = b"no table"
    for root in ("s3://bucket/t", "s3://bucket/t/"):
        rows = [tuple(map(str, row.values())) for row in hr.parquet(root)]
        assert rows == [("2021", "2020", "d e"), ("2022", "2021", "d e")]
    [row] = hr.parquet("s3://bucket/t", ["x"], where=[("year", ">", 2020)])
    assert row == {"x": 2022}


@pytest.mark.parametrize("query", ["X-Amz-Signature=secret1234", "a=b/c=d", "sig=x/key=secret#e=f"])
def test_url_query_adds_no_columns(server: Server, tmp_path, query):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": [1]}), tmp_path / "a")
    server.files["year=2020/a"] = (tmp_path / "a").read_bytes()
    pipe = hr.parquet(f"{server.url}/year=2020/a?{query}")
    assert list(pipe) == [{"x": 1}]
    assert list(pipe.spec) == ["x"]
    assert "secret" not in pipe.describe()
    with pytest.raises(errors.OpError) as caught:
        list(hr.parquet(f"{server.url}/year=2020/b?{query}"))
    assert "secret" not in str(caught.value)


def test_image_folder_is_read(server: Server):
    for name in ("cats/1.png", "cats/deep/2.PNG", "dogs/1.jpg", "dogs/.3.jpg", "dogs/notes.txt"):
        server.files[f"bucket/photos/{name}"] = name.encode()
    for root in ("s3://bucket/photos", "s3://bucket/photos/"):
        pipeline = hr.image_folder(root)
        assert pipeline.classes == ("cats", "dogs")
        results = [(example["data"], int(example["label"])) for example in pipeline]
        assert results == [(b"cats/1.png", 0), (b"cats/deep/2.PNG", 0), (b"dogs/1.jpg", 1)]
        shuffled = {example["data"] for example in pipeline.shuffle(seed=1)}
        assert shuffled == {b"cats/1.png", b"cats/deep/2.PNG", b"dogs/1.jpg"}


def test_many_small_files_are_requested_ahead(server: Server):
    """The server answers only once several requests are in progress."""
    everyone = threading.Barrier(32, timeout=30)

    def together(handler, body):
        everyone.wait()
        handler.begin()
        handler.wfile.write(body)

    for number in range(40):
        server.files[f"bucket/{number:02d}"] = b"%d" % number
    server.faults = [together] * 32
    pipeline = hr.files("s3://bucket/*").options(num_threads=2)
    assert [int(example["data"]) for example in pipeline] == list(range(40))
    assert len(server.data_requests()) == 40


@pytest.mark.parametrize(
    ("window", "num_known", "num_together"),
    [(None, 4, 24), (5, 20, 24)],
    ids=["in order", "window"],
)
def test_small_record_files_are_requested_further_ahead(
    server: Server, window, num_known, num_together
):
    """After some answers, the server waits until many requests have arrived."""
    everyone = threading.Barrier(num_together, timeout=30)

    def together(handler, body):
        everyone.wait()
        handler.begin()
        handler.wfile.write(body)

    num_files = num_known + 2 * num_together
    for number in range(num_files):
        server.files[f"bucket/{number:02d}"] = b"%d\n" % number
    server.faults = [None] * num_known + [together] * num_together
    pipeline = hr.text_lines("s3://bucket/*").options(num_threads=2)
    if window:
        pipeline = pipeline.shuffle(window=window, seed=1)
    results = [int(example["text"]) for example in pipeline]
    assert not everyone.broken
    assert sorted(results) == list(range(num_files))
    assert (results == sorted(results)) == (window is None)


@pytest.mark.parametrize("root", ROOTS)
def test_patterns_and_directories_are_listed(server: Server, root):
    for name in ("a/1.x", "a/2.x", "a/3.y", "a/.4.x", "b/1.x", "b/c/1.x", "b/.d/1.x", "[z].x"):
        server.files[f"bucket/{name}"] = b"1"

    def paths_of(path):
        return [example["path"].removeprefix(f"{root}/") for example in hr.files(path)]

    assert paths_of(f"{root}/a") == paths_of(f"{root}/a/") == ["a/1.x", "a/2.x", "a/3.y"]
    assert paths_of(f"{root}/a/*.x") == ["a/1.x", "a/2.x"]
    assert paths_of(f"{root}/*/[12].x") == ["a/1.x", "a/2.x", "b/1.x"]
    assert paths_of(f"{root}/**/1.x") == ["a/1.x", "b/1.x", "b/c/1.x"]
    assert paths_of([f"{root}/b/c", f"{root}/a/3.y"]) == ["b/c/1.x", "a/3.y"]
    for path, why in [
        (f"{root}/none", "no such file or directory"),
        (f"{root}/none*", "no file matches"),
        (f"{root}/a/*/x", "no file matches"),
    ]:
        with pytest.raises(errors.NotFoundError, match=why):
            paths_of(path)


def test_iteration_resumes_in_the_middle_of_a_file(server: Server, tmp_path):
    server.files["bucket/a"] = records(tmp_path, 30_000)
    pipeline = hr.tfrecords("s3://bucket/a").shuffle(seed=4, window=100).batch(100)
    with iter(pipeline) as batches:
        for _ in range(200):
            next(batches)
        state = batches.state()
        expected = [batch["record"].tolist() for batch in batches]
    server.requests.clear()
    assert [batch["record"].tolist() for batch in pipeline.resume(state)] == expected


@pytest.mark.parametrize(
    ("url", "error", "why"),
    [
        (
            "hdfs://name/file",
            errors.UnimplementedError,
            "headrace does not support hdfs://",
        ),
        ("s3:///file", errors.InvalidArgumentError, "it has no bucket or host"),
        ("s3://bucket/none", errors.NotFoundError, "No such file or directory"),
    ],
)
def test_error_for_an_unusable_url_includes_the_reason(server: Server, url, error, why):
    for read in (lambda: storage.open_file(url).read(), lambda: list(hr.tfrecords([url, "/none"]))):
        with pytest.raises(error) as raised:
            read()
        assert url in str(raised.value)
    with pytest.raises(error, match=why):
        storage.open_file(url).read()


def test_error_for_a_non_ascii_host_has_a_remedy():
    url = "https://bücher.example/file"
    for read in (lambda: storage.open_file(url).read(), lambda: list(hr.tfrecords(url))):
        with pytest.raises(errors.InvalidArgumentError, match=r"its host is not ASCII.*xn--"):
            read()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/{}",
        "http://127.0.0.1:9/a?signature={}",
        "s3://bucket/{}",
        "s3://bucket/{}/*.tfrecord",
        "az://bucket/{}",
        "hf://datasets/owner/name@{}/file",
        "hf://datasets/owner/name@{}/*.tfrecord",
    ],
)
@pytest.mark.parametrize("letters", ["a" * 65_535, "é" * 11_000])
def test_url_that_is_too_long_is_rejected(server: Server, url, letters, capfd):
    with pytest.raises(
        errors.InvalidArgumentError, match=r"bytes, expected at most 65534\. Shorten"
    ):
        list(hr.tfrecords(url.format(letters)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["a" * 65_520, "é" * 10_920])
def test_url_that_becomes_too_long_with_its_endpoint_does_not_panic(server: Server, name, capfd):
    with pytest.raises(errors.OpError, match=r"TooLong|No such file"):
        list(hr.tfrecords(f"s3://b/{name}"))
    assert capfd.readouterr() == ("", "")


REJECTED = [HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED]


@pytest.mark.parametrize("status", REJECTED)
@pytest.mark.parametrize("has_ranges", [True, False])
def test_servers_can_reject_head_requests(server: Server, status, has_ranges):
    server.head_status = status
    server.has_ranges = has_ranges
    server.files |= {"a": b"1\n2\n", "empty": b""}
    for name, length in (("a", 4), ("empty", 0)):
        assert storage.status(f"{server.url}/{name}?signature=x").length == length
    assert [example["text"] for example in hr.text_lines(f"{server.url}/a")] == [b"1", b"2"]
    assert list(hr.text_lines(f"{server.url}/empty")) == []
    assert not storage.exists(f"{server.url}/missing")


@pytest.mark.parametrize("status", REJECTED)
def test_parquet_and_lengths_require_no_head_request(server: Server, status):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    output = io.BytesIO()
    parquet.write_table(arrow.table({"n": range(100)}), output)
    server.files["a.parquet"] = output.getvalue()
    server.head_status = status
    pipeline = hr.parquet(f"{server.url}/a.parquet?X-Amz-Signature=1")
    assert len(pipeline) == 100
    assert sorted(example["n"] for example in pipeline.shuffle(seed=1)) == list(range(100))


def test_error_for_a_missing_http_file_includes_status_and_url(server: Server):
    with pytest.raises(
        errors.NotFoundError,
        match=rf"{server.url}/missing; No such file or directory: the server answered 404",
    ) as raised:
        list(hr.text_lines(f"{server.url}/missing"))
    assert "bucket" not in str(raised.value)


@pytest.mark.parametrize("name", ["a-*.txt", "a-[01].txt", "**"])
def test_http_patterns_are_rejected_unless_a_file_has_that_name(server: Server, name):
    with pytest.raises(
        errors.NotFoundError, match=r"404 Not Found.*don't work over HTTP.*Name each file"
    ) as raised:
        list(hr.text_lines(f"{server.url}/{name}?page=1"))
    assert f"{server.url}/{name}" in str(raised.value)
    assert "bucket" not in str(raised.value)
    server.files[name] = b"1\n"
    assert [example["text"] for example in hr.text_lines(f"{server.url}/{name}")] == [b"1"]


def test_http_directories_are_rejected(server: Server):
    with pytest.raises(errors.UnimplementedError, match="cannot be listed"):
        storage.entries(f"{server.url}/directory")


@pytest.mark.parametrize("root", ["gs://bucket", "az://bucket"])
def test_files_are_written_to_every_storage(server: Server, root):
    with TFRecordWriter(f"{root}/a") as writer:
        writer.write(b"one")
    assert list(tf_record_iterator(f"{root}/a")) == [b"one"]
    if root == "gs://bucket":  # The server does not implement Azure's removal of files.
        storage.remove(f"{root}/a")
        assert not storage.exists(f"{root}/a")


def test_ctrl_c_interrupts_a_wait_for_storage(server: Server):
    """The main thread of the program reads."""
    goes_on = threading.Event()
    server.files["bucket/a"] = bytes(100_000)
    server.faults = [stalls(goes_on)]
    program = "from headrace.io.storage import open_file; open_file('s3://bucket/a').read()"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as process:
        try:
            while not server.data_requests():
                assert process.poll() is None
                server.asked.wait(30)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=30)
        finally:
            goes_on.set()
    assert b"KeyboardInterrupt" in stderr


def test_forked_child_opens_its_own_connections(server: Server):
    server.files["bucket/a"] = b"data"
    program = """
import os
from headrace.io.storage import open_file
read = lambda: open_file("s3://bucket/a").read()
assert read() == b"data"
child = os.fork()
if child == 0:
    os._exit(0 if read() == b"data" else 1)
assert os.waitpid(child, 0)[1] == 0
assert read() == b"data"
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)


def test_file_urls_are_paths(tmp_path):
    path = tmp_path / "a file%.txt"
    path.write_bytes(b"one\ntwo\n")
    url = path.as_uri()
    assert url.startswith("file:///")
    assert "%20" in url
    assert [example["text"] for example in hr.text_lines(url)] == [b"one", b"two"]
