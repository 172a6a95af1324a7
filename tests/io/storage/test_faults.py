"""Network faults: the read is retried, or the fault is reported."""

import threading
from http import HTTPStatus

import pytest
from tests.io.storage.collecting import start_collecting
from tests.io.storage.server import (
    Server,
    answers,
    changes,
    cut_short,
    drips,
    reset,
    reset_halfway,
    stalls,
)

import headrace as hr
from headrace.core import errors
from headrace.io import storage

FAULTS = {
    "reset": reset,
    "reset halfway": reset_halfway,
    "cut short": cut_short,
    "500": answers(HTTPStatus.INTERNAL_SERVER_ERROR),
    "503": answers(HTTPStatus.SERVICE_UNAVAILABLE),
    "429": answers(HTTPStatus.TOO_MANY_REQUESTS),
    "drips": drips,
}
LINES = [b"%d " % number * 30 for number in range(25_000)]
DATA = b"\n".join(LINES)


def read(url) -> bytes:
    with storage.open_file(url) as file:
        return file.read()


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("has_tags", [True, False])
@pytest.mark.parametrize("fault", list(FAULTS))
def test_request_that_fails_once_is_retried(server: Server, fault, has_tags, has_ranges):
    server.has_tags, server.has_ranges = has_tags, has_ranges
    server.files["a"] = DATA
    for num_good in range(3):
        server.faults = [None] * num_good + [FAULTS[fault]]
        server.requests.clear()
        # With so little memory, the file is read in many parts.
        pipeline = hr.text_lines(f"{server.url}/a").options(memory_bytes=32 << 20)
        assert [example["text"] for example in pipeline] == LINES
        assert not server.faults or not has_ranges


def test_only_missing_bytes_are_requested_again(server: Server):
    server.files["a"] = DATA
    server.faults = [None, reset_halfway]
    assert read(f"{server.url}/a") == DATA
    ranges = [expected.removeprefix("bytes=").split("-") for *_, expected in server.data_requests()]
    begins = [int(first) for first, _ in ranges]
    assert len(begins) == len(set(begins)), "a byte was asked for twice"
    ends = {int(last) for _, last in ranges}
    assert len(ends) == len(begins) - 1, "the rest of one part was asked for"


@pytest.mark.parametrize("fault", ["reset", "503", "429"])
def test_request_that_keeps_failing_is_an_error_after_some_retries(
    server: Server, monkeypatch, fault
):
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "3")
    server.files["bucket/a"] = DATA
    server.faults = [FAULTS[fault]] * 100
    with pytest.raises(errors.UnavailableError, match=r"s3://bucket/a; .*try again\.") as raised:
        read("s3://bucket/a")
    assert "after 3 retries" in str(raised.value)
    assert len(server.data_requests()) == 4


def test_body_that_keeps_breaking_off_is_an_error_after_some_retries(server: Server, monkeypatch):
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "3")
    server.has_tags = False
    server.files["a"] = DATA
    server.faults = [None] + [reset_halfway] * 100
    with pytest.raises(errors.UnavailableError, match="broke 4 times while reading a part"):
        read(f"{server.url}/a")


def test_permission_errors_are_not_retried(server: Server):
    server.files["bucket/a"] = DATA
    for status, error in [
        (HTTPStatus.FORBIDDEN, errors.PermissionDeniedError),
        (HTTPStatus.UNAUTHORIZED, errors.UnauthenticatedError),
    ]:
        server.requests.clear()
        server.faults = [answers(status)]
        with pytest.raises(error, match="Check the credentials"):
            read("s3://bucket/a")
        assert len(server.data_requests()) == 1


@pytest.mark.parametrize("root", ["s3://bucket", "http"])
@pytest.mark.parametrize("length", [len(DATA), len(DATA) - 1])
def test_file_that_changes_between_two_reads_is_an_error(server: Server, root, length):
    root = f"{server.url}/bucket" if root == "http" else root
    server.files["bucket/a"] = DATA
    server.faults = [changes("bucket/a", bytes(length))]
    with pytest.raises(errors.AbortedError, match="the file changed while it was read") as raised:
        list(hr.text_lines(f"{root}/a"))
    assert f"{root}/a" in str(raised.value)


def test_file_without_an_etag_that_changes_its_length_is_an_error(server: Server):
    server.has_tags = False
    server.files["bucket/a"] = DATA
    server.faults = [changes("bucket/a", DATA[:-1])]
    with pytest.raises(errors.AbortedError, match="bytes, but had"):
        list(hr.text_lines(f"{server.url}/bucket/a"))


def test_file_that_changes_after_its_index_is_built_is_an_error(server: Server):
    server.files["bucket/a"] = DATA
    pipeline = hr.text_lines("s3://bucket/a").shuffle(seed=1)
    assert sorted(example["text"] for example in pipeline) == sorted(LINES)
    # Most of the bytes are read after the scan.
    server.requests.clear()
    scan = len(DATA) // (4 << 20) + 1
    server.faults = [None] * scan + [changes("bucket/a", DATA[::-1])]
    with pytest.raises(errors.AbortedError, match="the file changed while it was read"):
        list(hr.text_lines("s3://bucket/a").shuffle(seed=2))


def test_stalled_body_is_logged_and_close_does_not_wait_for_it(server: Server, caplog):
    goes_on = threading.Event()
    server.files["a"] = DATA
    server.faults = [stalls(goes_on)]
    stuck = threading.Event()
    caplog.handler.addFilter(lambda record: stuck.set() or True)
    pipeline = hr.text_lines(f"{server.url}/a").batch(10).options(warn_after_s=0.05)
    batches = iter(pipeline)
    first = start_collecting(batches)
    try:
        assert stuck.wait(30)
        assert f"{server.url}/a" in caplog.text
        batches.close()
        first.join(10)
        assert not first.is_alive()
    finally:
        goes_on.set()
        first.join(30)


def test_damaged_data_and_storage_faults_raise_different_errors(
    server: Server, tmp_path, monkeypatch
):
    monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "0")
    server.files["bucket/good"] = b"1\n2\n"
    server.files["bucket/bad"] = b"1\n2\n"
    pipeline = hr.text_lines(["s3://bucket/good", "s3://bucket/bad"]).skip_errors(5)
    assert len(list(pipeline)) == 4
    server.faults = [answers(HTTPStatus.SERVICE_UNAVAILABLE)] * 2
    with pytest.raises(errors.UnavailableError):
        list(pipeline)
