"""A secret is only sent to its own host."""

import base64

import pytest
from tests.io.storage.server import Server

import headrace.tf1 as tf
from headrace.tf1 import gfile

BASIC = "Basic " + base64.b64encode(b"me:pass:word@1").decode()


def with_user(server: Server, name: str) -> str:
    return f"http://me:pass%3Aword%401@{server.address}/{name}"


def test_user_and_password_are_sent(server: Server):
    server.files["a"] = b"1\n2\n"
    server.passwords["a"] = BASIC
    with gfile.GFile(with_user(server, "a"), "rb") as file:
        assert file.read() == b"1\n2\n"
    assert gfile.Exists(with_user(server, "a"))
    assert all("me:" not in path and "@" not in path for path, _ in server.headers)


@pytest.mark.parametrize(
    "call",
    [
        lambda url: gfile.GFile(url, "rb").read(),
        gfile.Stat,
        gfile.Remove,
        gfile.ListDirectory,
        lambda url: tf.train.Saver([tf.Variable(1)]).restore(tf.Session(), url),
    ],
)
def test_no_message_shows_a_password(server: Server, call):
    with pytest.raises(Exception, match=r"http://\*\*\*@127\.0\.0\.1:\d+/") as raised:
        call(with_user(server, "missing"))
    error: BaseException | None = raised.value
    while error is not None:
        for text in (str(error), repr(error), *getattr(error, "__notes__", [])):
            assert "pass" not in text.replace("passed", ""), text
        error = error.__cause__ or error.__context__
