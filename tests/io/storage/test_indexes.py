"""Index files of remote files, on this machine or next to the file."""

import tarfile
from pathlib import Path

import pytest
from tests.archives import add_members
from tests.cli.files import call
from tests.io.storage.server import Server

import headrace as hr
from headrace.io.records import TFRecordWriter

LINES = b"".join(b"line %d\n" % number for number in range(5000))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "headrace" / "indexes"


def shuffled(url, **options):
    """Returns the lines of a shuffle, and how their positions were found."""
    with iter(hr.text_lines(url).shuffle(seed=1).options(**options).batch(1000)) as batches:
        lines = [line for batch in batches for line in batch["text"]]
        return lines, batches.statistics().index


@pytest.mark.parametrize(("tags", "times"), [(True, True), (True, False), (False, True)])
def test_index_is_kept_locally_until_the_file_changes(server: Server, cache, tags, times):
    server.has_tags, server.has_times = tags, times
    server.files["bucket/a"] = LINES
    url = "s3://bucket/a"
    expected, outputs = shuffled(url)
    assert (outputs.scanned, outputs.written, outputs.directories) == (1, 1, (str(cache),))
    server.requests.clear()
    results, used = shuffled(url)
    assert results == expected
    assert (used.scanned, used.opened) == (0, 1)
    assert not any(path.endswith(".hrindex") for _, path, _ in server.requests)
    # A new file of the same length has a new tag, and a different length means a different file.
    server.files["bucket/a"] = LINES[::-1].strip() + b"\n" if tags else LINES[:-7]
    results, outputs = shuffled(url)
    assert sorted(results) == sorted(server.files["bucket/a"].splitlines())
    assert outputs.scanned == 1


def test_shuffled_lines_near_each_other_are_read_in_one_request(server: Server):
    lines = [b"%0999d" % number for number in range(10_000)]
    server.files["bucket/a"] = b"\n".join(lines)
    shuffled("s3://bucket/a")
    server.requests.clear()
    results, _ = shuffled("s3://bucket/a")
    assert sorted(results) == lines
    assert len(server.data_requests()) < len(lines) / 50


def test_index_is_not_kept_without_an_etag_and_a_time(server: Server, cache):
    server.has_tags = server.has_times = False
    server.files["a"] = LINES
    for _ in range(2):
        assert shuffled(f"{server.url}/a")[1].scanned == 1
    assert not cache.exists()
    done = call("index", f"{server.url}/a")
    assert done.exit_code == 1
    assert "reports neither an ETag nor a modification time" in done.stderr


def test_index_beside_a_remote_file_is_uploaded_and_used(server: Server, cache):
    server.files["bucket/a"] = LINES
    expected, _ = shuffled("s3://bucket/a", index="memory")
    done = call("index", "s3://bucket/a")
    assert (done.exit_code, done.stdout) == (0, "s3://bucket/a.hrindex: 5,000 records\n")
    assert call("index", "s3://bucket/a").stdout.endswith(", up to date\n")
    assert not cache.exists()
    for _ in range(2):
        results, used = shuffled("s3://bucket/*")
        assert results == expected
        assert (used.opened, used.scanned) == (1, 0)
        assert [path.suffix for path in cache.iterdir()] == [".hrindex"]
    assert len(hr.text_lines("s3://bucket/")) == 5000
    done = call("inspect", "s3://bucket/a.hrindex")
    assert done.exit_code == 0
    assert "5,000 records" in done.stdout


def test_damaged_or_outdated_index_beside_a_remote_file_is_ignored(server: Server, cache):
    server.files["bucket/a"] = LINES
    call("index", "s3://bucket/a")
    uninterrupted = server.files["bucket/a.hrindex"]
    for changed in (
        uninterrupted[:-1],
        uninterrupted[: len(uninterrupted) // 2]
        + b"x"
        + uninterrupted[len(uninterrupted) // 2 + 1 :],
    ):
        server.files["bucket/a.hrindex"] = changed
        for path in cache.glob("*"):
            path.unlink()
        results, outputs = shuffled("s3://bucket/a")
        assert sorted(results) == sorted(LINES.splitlines())
        assert outputs.scanned == 1
    server.files["bucket/a.hrindex"] = uninterrupted
    server.files["bucket/a"] = LINES[::-1].strip() + b"\n"
    results, outputs = shuffled("s3://bucket/a")
    assert sorted(results) == sorted(server.files["bucket/a"].splitlines())
    assert outputs.scanned == 1


def test_index_is_used_even_if_it_cannot_be_saved(server: Server, tmp_path, monkeypatch):
    server.files["bucket/a"] = LINES
    call("index", "s3://bucket/a")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    results, used = shuffled("s3://bucket/a")
    assert len(results) == 5000
    assert (used.opened, used.scanned) == (1, 0)
    del server.files["bucket/a.hrindex"]
    results, outputs = shuffled("s3://bucket/a")
    assert len(results) == 5000
    assert (outputs.scanned, outputs.written) == (1, 0)
    assert outputs.failure


def records_and_index(directory: Path) -> tuple[bytes, bytes]:
    """The contents of a record file and of the index that DALI writes for it."""
    path = directory / "records"
    with TFRecordWriter(path) as writer:
        for number in range(500):
            writer.write(b"%d" % number * (number % 7))
    done = call("index", "--dali", str(path))
    assert done.exit_code == 0, done.stderr
    return path.read_bytes(), Path(f"{path}.idx").read_bytes()


def samples_and_index(directory: Path) -> tuple[bytes, bytes]:
    """The contents of an archive of samples and of the index that `wds2idx` writes for it."""
    path = directory / "samples"
    with tarfile.open(path, "w") as archive:
        for number in range(50):
            add_members(archive, [(f"{number}.txt", b"%d" % number * (number * 60 + 1))])
    lines = ["v1.2 50"]
    with tarfile.open(path) as archive:
        lines += [f"txt {one.offset_data} {one.size} {one.name}" for one in archive]
    return path.read_bytes(), "\n".join(lines).encode()


@pytest.mark.parametrize("ending", ["tfrecord.idx", "idx"])
@pytest.mark.parametrize("arguments", [{}, {"window": 20, "block_bytes": 700}])
@pytest.mark.parametrize(
    ("output", "source", "suffix"),
    [(records_and_index, hr.tfrecords, "tfrecord"), (samples_and_index, hr.webdataset, "tar")],
)
def test_index_written_by_another_program_beside_a_remote_file_is_used(
    server: Server, cache, tmp_path, output, source, suffix, arguments, ending
):
    data, index = output(tmp_path)
    ending = ending.replace("tfrecord", suffix)
    server.files[f"bucket/a.{suffix}"] = data
    url = f"s3://bucket/a.{suffix}"
    shuffled = source(url).shuffle(seed=1, **arguments).batch(1)
    with iter(shuffled.options(index="memory")) as batches:
        expected = [repr(batch) for batch in batches]
    server.files[f"bucket/a.{ending}"] = index
    with iter(source(url).shuffle(seed=1, **arguments).batch(1)) as batches:
        assert [repr(batch) for batch in batches] == expected
        used = batches.statistics().index
    assert (used.opened, used.scanned, used.written) == (1, 0, 0)
    assert not cache.exists()
    # Offsets are ignored if they cannot belong to all records.
    server.files[f"bucket/a.{ending}"] = b"\n".join(index.splitlines()[:-1])
    with iter(source(url).shuffle(seed=1, **arguments).batch(1)) as batches:
        assert [repr(batch) for batch in batches] == expected
        assert batches.statistics().index.scanned == 1
