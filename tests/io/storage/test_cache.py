"""The cache for parts of remote files on this machine."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.io.storage.server import Server

import headrace as hr

MIB = 1 << 20
DATA = np.random.default_rng(5).bytes(5 * MIB + 1000)


def read(url, directory, cache_bytes=None) -> bytes:
    pipeline = hr.files(url).options(cache_directory=directory, cache_bytes=cache_bytes)
    return b"".join(example["data"] for example in pipeline)


def kept(directory: Path) -> list[Path]:
    return [path for path in directory.glob("*/*") if path.is_file()]


def test_cached_part_is_not_requested_again(server: Server, tmp_path):
    server.files["bucket/a"] = DATA
    for num_requests in (6, 0):
        server.requests.clear()
        assert read("s3://bucket/a", tmp_path) == DATA
        assert len(server.data_requests()) == num_requests
    assert len(kept(tmp_path)) == 6


def test_small_cache_keeps_only_parts_that_fit(server: Server, tmp_path):
    server.files["bucket/large"] = DATA[: MIB // 2]
    server.files["bucket/small"] = DATA[:1000]
    limit = 100_000
    for name, num_requests in (("large", 1), ("small", 1), ("large", 1), ("small", 0)):
        server.requests.clear()
        expected = server.files[f"bucket/{name}"]
        assert read(f"s3://bucket/{name}", tmp_path, limit) == expected
        assert len(server.data_requests()) == num_requests
        assert sum(path.stat().st_size for path in kept(tmp_path)) <= limit


def test_changed_files_are_requested_again(server: Server, tmp_path):
    server.files["bucket/a"] = DATA
    assert read("s3://bucket/a", tmp_path) == DATA
    server.files["bucket/a"] = DATA[::-1]
    assert read("s3://bucket/a", tmp_path) == DATA[::-1]


def test_file_without_an_etag_or_time_is_not_cached(server: Server, tmp_path):
    server.has_tags = server.has_times = False
    server.files["a"] = DATA
    assert read(f"{server.url}/a", tmp_path) == DATA
    assert kept(tmp_path) == []


def test_damaged_part_is_requested_again(server: Server, tmp_path):
    server.files["bucket/a"] = DATA
    assert read("s3://bucket/a", tmp_path) == DATA
    first, second, third, *_ = kept(tmp_path)
    first.write_bytes(first.read_bytes()[:-1])
    second.write_bytes(b"")
    third.write_bytes(bytes([third.read_bytes()[0] ^ 1]) + third.read_bytes()[1:])
    server.requests.clear()
    assert read("s3://bucket/a", tmp_path) == DATA
    assert len(server.data_requests()) == 3


def test_cache_stays_within_its_size(server: Server, tmp_path):
    for number in range(10):
        server.files[f"bucket/{number}"] = bytes([number]) * (2 * MIB)
    limit = 6 * MIB
    for number in range(10):
        assert read(f"s3://bucket/{number}", tmp_path, limit) == server.files[f"bucket/{number}"]
        assert sum(path.stat().st_size for path in kept(tmp_path)) <= limit + limit // 16
    # The most recently used parts are kept.
    server.requests.clear()
    read("s3://bucket/9", tmp_path, limit)
    assert server.data_requests() == []


def test_shuffle_uses_cached_parts(server: Server, tmp_path):
    lines = [b"%d" % number for number in range(300_000)]
    server.files["bucket/a"] = b"\n".join(lines)
    pipeline = hr.text_lines("s3://bucket/a").shuffle(seed=1).options(cache_directory=tmp_path)
    first = [example["text"] for example in pipeline]
    assert sorted(first) == sorted(lines)
    server.requests.clear()
    assert [example["text"] for example in pipeline.epoch(0)] == first
    assert server.data_requests() == []


def test_invalid_arguments_are_rejected(tmp_path):
    pipeline = hr.files("s3://bucket/a")
    for wrong, error, why in [
        ({"cache_directory": 1}, TypeError, "expected a str or a pathlib.Path"),
        ({"cache_directory": "s3://bucket"}, ValueError, "expected a directory on this machine"),
        ({"cache_bytes": 1 << 30}, ValueError, "but cache_directory is not"),
        (
            {"cache_directory": tmp_path, "cache_bytes": 0},
            ValueError,
            "expected an int of at least 1",
        ),
    ]:
        with pytest.raises(error, match=why):
            pipeline.options(**wrong)


def test_parts_are_not_written_through_symbolic_links(server: Server, tmp_path):
    server.files["bucket/a"] = b"data"
    read("s3://bucket/a", tmp_path / "cache")
    (path,) = kept(tmp_path / "cache")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path.unlink()
    path.symlink_to(victim)
    assert read("s3://bucket/a", tmp_path / "cache") == b"data"
    assert victim.read_text() == "mine"
    assert not path.is_symlink()
    path.unlink()
    path.parent.rmdir()
    (tmp_path / "other").mkdir()
    path.parent.symlink_to(tmp_path / "other")
    with pytest.raises(hr.errors.OpError, match=r"options\(cache_directory=\.\.\.\)"):
        read("s3://bucket/a", tmp_path / "cache")
    assert kept(tmp_path / "other") == []


def test_unwritable_cache_directory_is_an_error(server: Server, tmp_path):
    server.files["bucket/a"] = DATA
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(hr.errors.OpError, match=r"cache_directory") as raised:
        read("s3://bucket/a", tmp_path / "file")
    assert str(tmp_path / "file") in str(raised.value)


READER = """
import sys, headrace as hr
url, directory = sys.argv[1:]
while True:
    for example in hr.files(url).options(cache_directory=directory, cache_bytes=2 << 20):
        print(len(example["data"]), flush=True)
"""


@pytest.mark.timeout(300)
def test_processes_that_share_a_cache_can_be_killed_at_any_time(
    server: Server, tmp_path, is_nightly
):
    for number in range(3):
        server.files[f"bucket/{number}"] = DATA[number : number + 3 * MIB // 2]
    draws = random.Random(7)
    command = [sys.executable, "-c", READER, "s3://bucket/*", str(tmp_path)]
    for _ in range(25 if is_nightly else 4):
        pair = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for process in pair:
            process.stdout.readline()
        for process in pair:
            time.sleep(draws.random() * 0.05)  # This only randomizes the moment.
            process.send_signal(signal.SIGKILL)
            process.communicate()
        result = read("s3://bucket/*", tmp_path, 2 * MIB)
        assert result == b"".join(server.files[f"bucket/{number}"] for number in range(3))
    assert sum(path.stat().st_size for path in kept(tmp_path)) <= 2 * MIB * (1 + 3 / 16)
