"""Windows over pieces of remote files read them with range requests."""

import gzip

import pytest
from tests.io.storage.server import Server

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

COUNTS = (3000, 0, 1, 500)


def lines_of(file: int, count: int) -> bytes:
    return b"".join(b"%d-%d %s\n" % (file, n, b"x" * (n % 300)) for n in range(count))


def texts(pipeline: hr.Pipeline) -> list[bytes]:
    return [bytes(example["text"]) for example in pipeline]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("block_bytes", [5_000, 70_000, 1 << 20])
def test_remote_pieces_match_local_ones(server: Server, tmp_path, block_bytes):
    for file, count in enumerate(COUNTS):
        server.files[f"bucket/{file}"] = lines_of(file, count)
        (tmp_path / str(file)).write_bytes(lines_of(file, count))
    names = [str(file) for file in range(len(COUNTS))]
    local = hr.text_lines([tmp_path / name for name in names])
    remote = hr.text_lines([f"s3://bucket/{name}" for name in names])
    results = [
        source.shuffle(20, 7, num_open=3, block_bytes=block_bytes) for source in (local, remote)
    ]
    assert texts(results[0].epoch(1)) == texts(results[1].epoch(1))
    small = results[1].options(num_threads=1, memory_bytes=2_000_000)
    assert texts(small.epoch(1)) == texts(results[0].epoch(1))
    if block_bytes == 70_000:
        assert_resumes(results[1].batch(100), every=9)


def test_only_the_bytes_of_a_piece_are_read(server: Server):
    server.files["bucket/a"] = lines_of(0, 60_000)
    size = len(server.files["bucket/a"])
    source = hr.text_lines("s3://bucket/a").shuffle(1, 7, num_open=1, block_bytes=100_000)
    with iter(source.batch(1)) as batches:
        next(batches)
    ends = [range_ for _, _, range_ in server.requests if range_ is not None]
    num_bytes = sum(int(last) + 1 - int(first) for first, last in map(_bounds, ends))
    assert 0 < num_bytes < size / 2


def _bounds(header: str) -> tuple[str, str]:
    first, _, last = header.removeprefix("bytes=").partition("-")
    return first, last


@pytest.mark.parametrize("kind", ["csv", "json_lines", "fixed", "gzip"])
def test_pieces_of_every_format_are_read_from_servers(server: Server, kind):
    rows = "".join(f'{n},"a\nb {n}"\n' for n in range(2000))
    server.files["bucket/csv"] = ("n,text\n" + rows).encode()
    server.files["bucket/json_lines"] = "".join(f'{{"n": {n}}}\n' for n in range(2000)).encode()
    server.files["bucket/fixed"] = b"".join(b"%06d" % n for n in range(2000))
    server.files["bucket/gzip"] = gzip.compress(lines_of(0, 2000))
    source = {
        "csv": lambda: hr.csv("s3://bucket/csv", {"n": int, "text": str}),
        "json_lines": lambda: hr.json_lines("s3://bucket/json_lines", {"n": int}),
        "fixed": lambda: hr.fixed_length_records("s3://bucket/fixed", 6),
        "gzip": lambda: hr.text_lines("s3://bucket/gzip"),
    }[kind]().with_origin()
    results = [list(map(str, pipe)) for pipe in (source, source.shuffle(9, 7, block_bytes=3000))]
    assert sorted(results[0]) == sorted(results[1])
    assert results[0] != results[1]


def test_server_without_ranges_is_rejected(server: Server):
    server.has_ranges = False
    server.files["a"] = lines_of(0, 3000)
    with pytest.raises(errors.UnimplementedError, match="records cannot be accessed at random"):
        list(hr.text_lines(f"{server.url}/a").shuffle(9, 7, block_bytes=3000))
