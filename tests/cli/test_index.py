"""`headrace index`: the places of records."""

import json
import struct
from pathlib import Path

import pytest
from tests.cli.files import call, damage, write_numbers, write_records


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def places(data: bytes) -> list[str]:
    """Returns the text that the script `tfrecord2idx` of NVIDIA DALI writes for a file."""
    found, offset = [], 0
    while offset < len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        found.append(f"{offset} {length + 16}")
        offset += length + 16
    return found


def test_each_record_has_its_offset_and_size():
    records = [bytes(number % 300) for number in range(1000)]
    write_records("a", records)
    done = call("index", "a")
    assert (done.exit_code, done.stdout) == (0, "a.idx: 1,000 records\n")
    assert Path("a.idx").read_text().splitlines() == places(Path("a").read_bytes())


def test_indexes_of_a_directory_go_where_that_is_wanted():
    Path("d").mkdir()
    write_numbers("d/a", 2)
    Path("d/b").touch()
    done = call("index", "d", "--output", "out", "--json")
    assert [one["num_records"] for one in json.loads(done.stdout)["indexes"]] == [2, 0]
    assert Path("out/a.idx").read_text().count("\n") == 2
    assert Path("out/b.idx").read_text() == ""
    assert call("index", "d").exit_code == 0
    assert call("index", "d").stdout == "d/a.idx: 2 records\nd/b.idx: 0 records\n"


def test_damaged_compressed_and_other_files_have_no_index():
    damage(write_numbers("a", 5), 13)
    write_records("b", [b"x"], "GZIP")
    Path("c").write_text("a text\n")
    for name, expected in (
        ("a", "corrupted record at 12 (record 0)"),
        ("b", "b: compressed with gzip"),
        ("c", "c: its kind is text, expected TFRecords"),
        ("d", "d: there is no such file"),
    ):
        done = call("index", name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list(Path().glob("*.idx*"))
