"""A secret is sent only to its own host."""

import base64
import json
import logging
import threading
from collections.abc import Iterator

import pytest
from tests.cli.files import call
from tests.io.storage.collecting import start_collecting
from tests.io.storage.server import Server, stalls

import headrace as hr
from headrace.core import errors
from headrace.io import storage
from headrace.io.records import TFRecordWriter

BASIC = "Basic " + base64.b64encode(b"me:pass:word@1").decode()
SIGNED = "X-Amz-Signature=secret5678&X-Amz-Security-Token=secret1234"


@pytest.fixture
def other() -> Iterator[Server]:
    """Yields a server on another host."""
    with Server() as other:
        yield other


def with_user(server: Server, name: str) -> str:
    return f"http://me:pass%3Aword%401@{server.address}/{name}"


def texts(url: str) -> list[bytes]:
    return [example["text"] for example in hr.text_lines(url)]


def sent(server: Server) -> str:
    """Returns all paths and headers that a server received."""
    return json.dumps(server.headers)


def test_redirect_on_the_same_host_keeps_the_password(server: Server):
    server.files["a"] = b"1\n"
    server.passwords["a"] = BASIC
    server.redirects["b"] = "/a"
    assert texts(with_user(server, "b")) == [b"1"]


def test_redirect_to_another_host_does_not_send_the_password(server: Server, other: Server):
    other.files["a"] = b"1\n"
    server.redirects["b"] = f"{other.url}/a"
    assert texts(with_user(server, "b")) == [b"1"]
    assert "authorization" in sent(server)
    for word in ("authorization", "referer", "pass", BASIC.removeprefix("Basic ")):
        assert word not in sent(other).lower()


def test_redirect_to_another_host_does_not_send_a_signed_query(server: Server, other: Server):
    other.files["a"] = b"1\n"
    server.redirects["b"] = f"{other.url}/a?page=1"
    assert texts(f"{server.url}/b?{SIGNED}") == [b"1"]
    assert "secret1234" in sent(server)
    assert "referer" not in sent(other)
    assert "secret" not in sent(other)


@pytest.mark.parametrize("root", ["s3://bucket", "gs://bucket", "az://bucket"])
def test_redirect_to_another_host_does_not_send_credentials(
    server: Server, other: Server, monkeypatch, root
):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret1234")
    other.files["bucket/a"] = b"1\n"
    server.redirects["bucket/a"] = f"{other.url}/bucket/a"
    assert texts(f"{root}/a") == [b"1"]
    if root == "s3://bucket":
        assert "secret1234" in sent(server)
    expected = {"accept", "host", "range", "user-agent", "if-match", "connection"}
    for _, headers in other.headers:
        assert set(headers) <= expected, set(headers) - expected


def test_endless_redirects_are_an_error(server: Server):
    server.redirects["a"] = "/a"
    with pytest.raises(errors.FailedPreconditionError, match="more than 10 times"):
        texts(f"{server.url}/a")
    assert len([path for path, _ in server.headers if path == "/a"]) <= 22


def test_redirect_to_another_scheme_is_rejected(server: Server):
    server.redirects["a"] = "file:///etc/passwd"
    with pytest.raises(errors.FailedPreconditionError, match="to a URL that is not HTTP"):
        texts(f"{server.url}/a")


def test_messages_hide_signatures(server: Server):
    server.files["broken"] = b"1,2\n3\n"
    url = f"{server.url}/broken?page=1&{SIGNED}"
    pipeline = hr.csv(url, columns={"a": int, "b": int}, header=False)
    shown = [pipeline.describe(), repr(pipeline)]
    batches = iter(pipeline.skip_errors(0.9).batch(1))
    list(batches)
    shown += [str(batches.skipped), json.dumps(batches.state())]
    with pytest.raises(errors.InvalidArgumentError) as raised:
        list(pipeline)
    with pytest.raises(errors.NotFoundError) as missing:
        texts(f"{server.url}/missing?{SIGNED}")
    shown += [str(raised.value), str(missing.value)]
    for text in shown:
        assert "secret" not in text, text
    assert "broken?page=1&X-Amz-Signature=***&X-Amz-Security-Token=***" in str(raised.value)


def test_command_line_reports_hide_secrets(server: Server):
    server.files["a.csv"] = server.files["damaged.csv"] = b"x,y\n1,2\n"
    server.files["damaged.csv"] += b"3\n"
    for command in ("inspect", "verify"):
        for name in ("a.csv", "damaged.csv", "missing.csv"):
            for options in ([], ["--json"], ["--verbose"] if command == "verify" else []):
                url = f"{with_user(server, name)}?{SIGNED}"
                done = call(command, *options, url)
                shown = done.stdout + done.stderr
                assert "***" in shown or "no damage" in shown, shown
                assert "secret" not in shown, shown
                assert "pass" not in shown, shown


def test_write_errors_hide_secrets(server: Server):
    url = with_user(server, "{number}.txt")
    for path in (url, url.replace("{number}", ""), url.replace("txt", "jsonl")):
        with pytest.raises(Exception, match=r"write|HTTP") as raised:
            hr.arrays([1, 2]).write(f"{path}?{SIGNED}", num_shards=2)
        assert "pass" not in str(raised.value)
        assert "secret" not in str(raised.value)


def test_cache_on_disk_contains_no_secrets(server: Server, tmp_path):
    server.files["a"] = b"1\n2\nx\n4\n"
    url = f"{with_user(server, 'a')}?{SIGNED}"
    for _ in range(2):
        pipeline = (
            hr.text_lines(url)
            .map(lambda example: {"n": int(example["text"])})
            .skip_errors(10)
            .cache(directory=tmp_path)
        )
        batches = iter(pipeline.batch(2))
        assert [batch["n"].tolist() for batch in batches] == [[1, 2], [4]]
        (skipped,) = batches.skipped
        assert skipped.file == f"http://***@{server.address}/a?" + SIGNED.replace(
            "secret5678", "***"
        ).replace("secret1234", "***")
    (path,) = tmp_path.glob("*.hrcache")
    data = path.read_bytes()
    assert b"***" in data
    assert b"secret" not in data
    assert b"pass" not in data


def test_logs_hide_passwords(server: Server, caplog):
    goes_on = threading.Event()
    server.files["a"] = b"1\n" * 1000
    server.faults = [stalls(goes_on)]
    stuck = threading.Event()
    caplog.set_level(logging.DEBUG)
    caplog.handler.addFilter(lambda record: stuck.set() or True)
    pipeline = hr.text_lines(with_user(server, "a")).batch(10).options(warn_after_s=0.05)
    batches = iter(pipeline)
    first = start_collecting(batches)
    try:
        assert stuck.wait(30)
        assert f"http://***@{server.address}/a" in caplog.text
        assert "pass" not in caplog.text
    finally:
        goes_on.set()
        batches.close()
        first.join(30)


def test_user_and_password_are_sent(server: Server):
    server.files["a"] = b"1\n2\n"
    server.passwords["a"] = BASIC
    assert texts(with_user(server, "a")) == [b"1", b"2"]
    assert len(list(hr.text_lines(with_user(server, "a")).shuffle(seed=1))) == 2
    with storage.open_file(with_user(server, "a")) as file:
        assert file.read() == b"1\n2\n"
    assert storage.exists(with_user(server, "a"))
    assert all("me:" not in path and "@" not in path for path, _ in server.headers)
    with pytest.raises(errors.UnauthenticatedError):
        texts(f"{server.url}/a")


def test_messages_hide_passwords(server: Server):
    server.files["broken"] = b"1,2\n3\n"
    pipeline = hr.csv(with_user(server, "broken"), columns={"a": int, "b": int}, header=False)
    shown = [pipeline.describe(), repr(pipeline), str(pipeline)]
    batches = iter(pipeline.skip_errors(0.9).batch(1))
    list(batches)
    assert batches.skipped
    shown += [str(batches.skipped), json.dumps(batches.state())]
    for raising in (
        lambda: list(pipeline),
        lambda: texts(with_user(server, "missing")),
        lambda: list(hr.text_lines(with_user(server, "missing")).shuffle(seed=1)),
        lambda: storage.open_file(with_user(server, "missing")).read(),
        lambda: storage.remove(with_user(server, "missing")),
        lambda: TFRecordWriter(with_user(server, "missing")),
    ):
        with pytest.raises(Exception, match=r"http://\*\*\*@127\.0\.0\.1:\d+/") as raised:
            raising()
        chain: BaseException | None = raised.value
        while chain is not None:
            shown += [str(chain), repr(chain), *getattr(chain, "__notes__", [])]
            chain = chain.__cause__ or chain.__context__
    for text in shown:
        assert "pass" not in text.replace("passed", ""), text


def test_names_of_files_in_components_and_caches_hide_the_secrets(server: Server, tmp_path):
    server.files["a"] = b"1\n"
    server.passwords["a"] = BASIC
    url = f"{with_user(server, 'a')}?{SIGNED}"
    shown = f"http://***@{server.address}/a?X-Amz-Signature=***&X-Amz-Security-Token=***"
    lines = hr.text_lines(url).with_origin()
    assert [example["file"] for example in lines.cache(tmp_path)] == [shown]
    assert [example["path"] for example in hr.files(url).cache(tmp_path)] == [shown]
    replayed = lines.replay(None)
    next(replayed)
    assert [file for file, *_ in replayed.origins()] == [shown]
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(stored) == 2
    assert not any(word in data for data in stored for word in (b"pass", b"secret"))
