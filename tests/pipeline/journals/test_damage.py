"""Files of a journal that were cut short by a kill, or damaged."""

import shutil

import numpy as np
import pytest

import headrace as hr
from headrace.core.errors import DataLossError
from headrace.pipeline.journals import order, reader

COMMITS = [[0], [1, 2], [3, 4, 5], [6]]


@pytest.fixture
def journal(tmp_path):
    """The directory of a journal with four commits, which is still open."""
    directory = tmp_path / "journal"
    with hr.Journal(directory) as writer:
        for numbers in COMMITS:
            writer.append([{"n": n, "data": np.full(n, n, np.uint8)} for n in numbers])
    return directory


def rows_of(directory):
    return [int(row["n"]) for row in hr.journal(directory)]


def segment_of(directory):
    return directory / "writer-000000-000000.rows"


def test_truncated_commit_is_dropped(journal, tmp_path, caplog):
    data = segment_of(journal).read_bytes()
    lengths = []
    for size in [*range(0, len(data), 5), len(data) - 1]:
        copy = tmp_path / str(size)
        shutil.copytree(journal, copy)
        segment_of(copy).write_bytes(data[:size])
        (copy / "writer-000000.lock").write_text('{"process": 7, "host": "here"}\n')
        rows = rows_of(copy)
        lengths.append(len(rows))
        assert rows == list(range(len(rows)))
        shutil.rmtree(copy)
    assert sorted(set(lengths)) == [0, 1, 3, 6]
    assert lengths == sorted(lengths)
    assert "writer 0 (process 7 on here) ended without closing the journal" in caplog.text
    assert "Its last append was cut short, so those rows are left out." in caplog.text


def test_error_for_a_changed_byte_names_the_commit(journal, tmp_path):
    data = bytearray(segment_of(journal).read_bytes())
    for position in range(0, len(data), 7):
        copy = tmp_path / str(position)
        shutil.copytree(journal, copy)
        data[position] ^= 4
        segment_of(copy).write_bytes(data)
        data[position] ^= 4
        with pytest.raises(DataLossError, match=r"000000\.rows: commit \d at byte \d+ is damaged"):
            rows_of(copy)
        shutil.rmtree(copy)


def test_error_for_a_damaged_commit_suggests_a_remedy(journal):
    segment = segment_of(journal)
    data = bytearray(segment.read_bytes())
    data[-1 - 8] ^= 1
    segment.write_bytes(data)
    with pytest.raises(DataLossError) as raised:
        rows_of(journal)
    assert str(raised.value).startswith(
        f"{segment}: commit 3 at byte 248 is damaged: the checksum of the rows does not match. "
        "Restore the file from a copy, or continue with a new journal."
    )


def test_truncated_order_is_completed(journal, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK_ROWS", 2)
    assert rows_of(journal) == list(range(7))
    data = (journal / "order-000000").read_bytes()
    first = data.index(b"\n") + 1
    for size in range(first, len(data), 11):
        copy = tmp_path / str(size)
        shutil.copytree(journal, copy)
        (copy / "order-000000").write_bytes(data[:size])
        assert rows_of(copy) == list(range(7))
        assert rows_of(copy) == list(range(7))
        shutil.rmtree(copy)


def test_error_for_a_changed_order_names_the_line(journal, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK_ROWS", 2)
    rows_of(journal)
    path = journal / "order-000000"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"[0,0", b"[0,1", 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataLossError, match=r"order-000000: line 3 at byte \d+ is damaged"):
        rows_of(journal)


def test_missing_segment_is_an_error(journal):
    rows_of(journal)
    segment_of(journal).unlink()
    with pytest.raises(DataLossError, match="the order of arrival refers to a commit at byte 32"):
        rows_of(journal)


def test_state_whose_order_was_lost_is_rejected(journal, monkeypatch):
    monkeypatch.setattr(order, "_FILE_BYTES", 1)
    monkeypatch.setattr(reader, "_BLOCK_ROWS", 2)
    pipe = hr.journal(journal)
    batches = iter(pipe)
    for _ in range(7):
        next(batches)
    state = batches.state()
    batches.close()
    last = sorted(journal.glob("order-*"))[-1]
    for path in (last, *journal.glob("order-00000[1-9]")):
        path.unlink(missing_ok=True)
    with pytest.raises(hr.errors.FailedPreconditionError, match="where the state continues"):
        list(pipe.resume(state))
