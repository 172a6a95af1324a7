"""Segments whose writer fails while a reader looks at them."""

import os

import pytest

import headrace as hr
from headrace.core.errors import ResourceExhaustedError
from headrace.pipeline.journals.arrivals import Segments
from headrace.pipeline.journals.directory import JournalDirectory


@pytest.fixture
def writer(tmp_path):
    with hr.Journal(tmp_path) as first:
        first.append([{"n": 0, "data": b""}])
    with hr.Journal(tmp_path) as journal:
        yield journal


@pytest.fixture
def segments(writer):
    files = JournalDirectory(writer.directory)
    segments = Segments(files, files.description())
    yield segments
    segments.close()


def fail_after(num_bytes, look, monkeypatch):
    """Lets the next write fail after some bytes, which a reader sees."""

    def writev(file, parts):
        os.write(file, b"".join(parts)[:num_bytes])
        assert look() is None
        monkeypatch.undo()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "writev", writev)


@pytest.mark.parametrize("num_bytes", [0, 20, 60, 400])
@pytest.mark.parametrize("size", [0, 30, 900])
def test_commit_can_replace_one_that_failed(writer, segments, num_bytes, size, monkeypatch):
    writer.append([{"n": 1, "data": b"a"}])
    first = segments.read(1, 0, 32, is_open=True)

    def look():
        return segments.read(1, 0, first.end, is_open=True)

    fail_after(num_bytes, look, monkeypatch)
    with pytest.raises(ResourceExhaustedError):
        writer.append([{"n": 2, "data": bytes(500)}])
    assert look() is None
    writer.append([{"n": 3, "data": bytes(size)}])
    assert look().columns[0].values.tolist() == [3]


@pytest.mark.parametrize("num_bytes", [0, 20])
def test_segment_can_replace_one_that_failed(writer, segments, num_bytes, monkeypatch):
    def look():
        return segments.read(1, 0, 32, is_open=True)

    fail_after(num_bytes, look, monkeypatch)
    with pytest.raises(ResourceExhaustedError):
        writer.append([{"n": 1, "data": b""}])
    assert look() is None
    writer.append([{"n": 2, "data": b""}])
    assert look().columns[0].values.tolist() == [2]


def test_commit_is_read_again_if_it_changes_in_between(writer, segments, monkeypatch):
    writer.append([{"n": 1, "data": b"a"}])
    end = segments.read(1, 0, 32, is_open=True).end
    path = JournalDirectory(writer.directory).segment(1, 0)
    writer.append([{"n": 2, "data": bytes(500)}])
    pread = os.pread

    def replace_after_first_read(file, size, offset):
        data = pread(file, size, offset)
        if offset == end and os.path.getsize(path) > end + 300:
            os.truncate(path, end)
            writer._segment.end = end
            os.lseek(writer._segment._file, end, os.SEEK_SET)
            for number in range(20):
                writer.append([{"n": 3 + number, "data": b"b"}])
        return data

    with monkeypatch.context() as patches:
        patches.setattr(os, "pread", replace_after_first_read)
        assert segments.read(1, 0, end, is_open=True) is None
    assert segments.read(1, 0, end, is_open=True).columns[0].values.tolist() == [3]


def test_ctrl_c_after_the_last_byte_keeps_the_rows(writer, segments, monkeypatch):
    writev = os.writev

    def interrupted(file, parts):
        writev(file, parts)
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        writer.append([{"n": 1, "data": b""}])
        patches.setattr(os, "writev", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.append([{"n": 2, "data": b""}])
    writer.append([{"n": 3, "data": b""}])
    writer.close()
    assert [int(row["n"]) for row in hr.journal(writer.directory)] == [0, 1, 2, 3]
