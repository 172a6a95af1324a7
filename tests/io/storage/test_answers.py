"""No server response uses more memory or time than the request allows."""

import subprocess
import sys
from http import HTTPStatus

import pytest
from tests.io.storage.server import (
    Server,
    answers,
    chunked,
    floods,
    longer,
    until_closed,
)

import headrace as hr
from headrace.core import errors
from headrace.io import storage

LINES = [b"%d " % number * 30 for number in range(25_000)]
DATA = b"\n".join(LINES)
GIGABYTES = 64 << 30

# Reads a file, and prints the error and the memory use.
_READ = """
import resource, sys
import headrace as hr
from headrace import errors

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

url = sys.argv[1]
before = most()
try:
    list(hr.text_lines(url).options(memory_bytes=16 << 20))
except errors.OpError as error:
    print(type(error).__name__, len(str(error)))
print(most() - before)
"""


def read_elsewhere(url: str) -> tuple[str, int]:
    """Reads in another process, and returns the outcome and the memory use in bytes."""
    command = [sys.executable, "-c", _READ, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    *words, num_bytes = done.stdout.split("\n")[:-1]
    return " ".join(words), int(num_bytes)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("status", [403, 404, 500, 301, 307])
def test_body_of_an_error_response_is_not_read_to_the_end(
    server: Server, monkeypatch, status, is_chunked
):
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "0")
    server.files["bucket/a"] = DATA
    server.faults = [floods(HTTPStatus(status), GIGABYTES, is_chunked)] * 2
    words, num_bytes = read_elsewhere(f"{server.url}/bucket/a")
    name, length = words.split()
    assert name in ("PermissionDeniedError", "NotFoundError", "UnavailableError")
    assert int(length) < 10_000
    assert num_bytes < 64 << 20


def test_control_characters_are_removed_from_error_text(server: Server, monkeypatch):
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "0")
    server.files["a"] = DATA
    server.faults = [floods(HTTPStatus.FORBIDDEN, 30, False, b"no \x1b[31m entry\xff\r\n here")] * 2
    with pytest.raises(errors.OpError, match="no  \\[31m entry\ufffd   here") as raised:
        list(hr.text_lines(f"{server.url}/a"))
    assert "\x1b" not in str(raised.value)


def test_redirect_is_followed_without_reading_its_body(server: Server):
    server.files["a"] = DATA
    server.redirects["b"] = f"{server.url}/a"
    server.redirect_bytes = GIGABYTES
    words, num_bytes = read_elsewhere(f"{server.url}/b")
    assert words == ""
    assert num_bytes < 64 << 20


def test_endless_listing_is_an_error(server: Server):
    server.is_list_endless = True
    words, num_bytes = read_elsewhere("s3://bucket/*")
    assert words.split()[0] == "FailedPreconditionError"
    assert num_bytes < 400 << 20


@pytest.mark.timeout(120)
@pytest.mark.parametrize("pattern", ["*", "**", "directory"])
def test_listing_with_too_many_pages_is_an_error(server: Server, pattern):
    server.has_endless_pages = True
    text = (
        r"the server's list of files continues after \d+ pages \(\d+ bytes\), "
        r"expected a last page\. The fault is in the server"
    )
    with pytest.raises(errors.FailedPreconditionError, match=text):
        list(hr.text_lines(f"s3://bucket/{pattern}"))
    assert 1000 < server.num_pages < 1200


@pytest.mark.parametrize("pattern", ["*", "**"])
def test_listing_with_a_repeated_token_is_an_error_at_once(server: Server, pattern):
    server.has_endless_pages = server.repeats_pages = True
    text = (
        r"the server's list of files returned the same page 11 times, expected a last page\. "
        r"The fault is in the server"
    )
    with pytest.raises(errors.FailedPreconditionError, match=text):
        list(hr.text_lines(f"s3://bucket/{pattern}"))
    assert server.num_pages == 16


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("num_good", [0, 1])
def test_response_longer_than_its_range_is_an_error(server: Server, num_good, is_chunked):
    server.files["a"] = DATA
    server.faults = [None] * num_good + [longer(1, is_chunked)]
    text = r"/a; the server sent at least \d+ bytes for a range of \d+\. The fault is in the server"
    with pytest.raises(errors.FailedPreconditionError, match=text):
        list(hr.text_lines(f"{server.url}/a").options(memory_bytes=32 << 20))


def test_endless_response_fails_immediately(server: Server):
    server.files["a"] = DATA
    server.faults = [longer(GIGABYTES, is_chunked=True)]
    words, num_bytes = read_elsewhere(f"{server.url}/a")
    assert words.split()[0] == "FailedPreconditionError"
    assert num_bytes < 64 << 20


def test_chunked_responses_are_read(server: Server):
    server.files["a"] = DATA
    server.faults = [chunked()] * 100
    assert [example["text"] for example in hr.text_lines(f"{server.url}/a")] == LINES


def test_file_of_unknown_length_continues_after_a_broken_connection(server: Server):
    server.has_ranges, server.has_lengths = False, False
    server.files["a"] = DATA
    # The first request is for a part.
    server.faults = [None, chunked(broken_at=len(DATA) // 2), chunked(broken_at=10)]
    assert [example["text"] for example in hr.text_lines(f"{server.url}/a")] == LINES
    assert not server.faults


def test_resuming_in_a_file_does_not_require_its_length(server: Server):
    server.has_ranges, server.has_lengths = False, False
    server.files["a"] = DATA
    pipeline = hr.text_lines(f"{server.url}/a").batch(1000)
    batches = iter(pipeline)
    uninterrupted = [next(batches) for _ in range(3)]
    rest = list(pipeline.resume(batches.state()))
    assert len(uninterrupted) + len(rest) == 25
    assert rest[0]["text"][0] == LINES[3000]


def test_file_without_a_detectable_end_is_rejected(server: Server):
    server.has_ranges = False
    server.files["a"] = DATA
    server.faults = [None, until_closed]
    text = "/a; the server does not report the file's length: .* no Content-Length and is not chu"
    with pytest.raises(errors.FailedPreconditionError, match=text):
        list(hr.text_lines(f"{server.url}/a"))


def test_partial_response_to_a_request_for_the_whole_file_is_rejected(server: Server):
    server.has_ranges = False
    server.files["a"] = DATA
    server.faults = [None, answers(HTTPStatus.PARTIAL_CONTENT)]
    with pytest.raises(errors.FailedPreconditionError, match="sent part of the file, expected"):
        list(hr.text_lines(f"{server.url}/a"))


def test_cache_works_without_a_length(server: Server, tmp_path):
    server.has_ranges, server.has_lengths = False, False
    server.files["a"] = DATA
    pipeline = hr.text_lines(f"{server.url}/a").options(cache_directory=str(tmp_path / "kept"))
    assert len(list(pipeline)) == len(LINES)


@pytest.mark.parametrize("data", [DATA, b"", b"one"])
def test_chunked_file_without_a_length_is_read(server: Server, data):
    server.has_ranges, server.has_lengths = False, False
    server.files["a"] = data
    url = f"{server.url}/a"
    with storage.open_file(url) as file:
        assert file.read() == data
        with pytest.raises(
            errors.FailedPreconditionError, match=r"no Content-Length header\)\. Copy"
        ):
            storage.size_of(file)
    with storage.open_file(url) as file:
        assert file.read(3) == data[:3]
    lines = data.split(b"\n") if data else []
    assert [example["text"] for example in hr.text_lines(url)] == lines
    assert [example["data"] for example in hr.files(url)] == [data]
    assert storage.exists(url)
    with pytest.raises(
        errors.OpError, match=r"only be read from the start.*Copy it to a regular file"
    ):
        list(hr.text_lines(url).shuffle(seed=1))
