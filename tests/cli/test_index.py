"""`headrace index`: index files of records."""

import json
import os
import struct
import tarfile
from pathlib import Path

import pytest
from tests.archives import add_members
from tests.cli.files import call, damage, write_numbers, write_records

import headrace as hr
from headrace.core import errors


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def places(data: bytes) -> list[str]:
    """Returns the text that NVIDIA DALI's script `tfrecord2idx` writes for a file."""
    results, offset = [], 0
    while offset < len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        results.append(f"{offset} {length + 16}")
        offset += length + 16
    return results


def test_index_has_the_offset_and_size_of_each_record():
    records = [bytes(number % 300) for number in range(1000)]
    write_records("a", records)
    done = call("index", "--dali", "a")
    assert (done.exit_code, done.stdout) == (0, "a.idx: 1,000 records\n")
    assert Path("a.idx").read_text().splitlines() == places(Path("a").read_bytes())


def test_dali_indexes_of_a_directory_are_written_to_the_output_directory():
    Path("d").mkdir()
    write_numbers("d/a", 2)
    Path("d/b").touch()
    done = call("index", "--dali", "d", "--output", "out", "--json")
    assert [one["num_records"] for one in json.loads(done.stdout)["indexes"]] == [2, 0]
    assert Path("out/a.idx").read_text().count("\n") == 2
    assert Path("out/b.idx").read_text() == ""
    assert call("index", "--dali", "d").exit_code == 0
    assert call("index", "--dali", "d").stdout == "d/a.idx: 2 records\nd/b.idx: 0 records\n"


def test_damaged_compressed_and_unsupported_files_get_no_dali_index():
    damage(write_numbers("a", 5), 13)
    write_records("b", [b"x"], "GZIP")
    Path("c").write_text("a text\n")
    for name, expected in (
        ("a", "corrupted record at 12 (record 0)"),
        ("b", "b: the file is compressed with gzip"),
        ("c", "c: the file's kind is text, but --dali needs TFRecords"),
        ("d", "d: no such file"),
    ):
        done = call("index", "--dali", name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list(Path().glob("*.idx*"))


def statistics(pipe):
    with iter(pipe.shuffle(seed=1)) as batches:
        return sum(1 for _ in batches), batches.statistics().index


def write_each_kind():
    """Returns a source for each file that is written."""
    write_numbers("a.tfrecord", 20)
    Path("b.csv").write_text("x;y\n" + "".join(f"{n};{n}\n" for n in range(20)))
    Path("c.jsonl").write_text("".join(f'{{"x": {n}}}\n' for n in range(20)))
    Path("d.txt").write_text("".join(f"line {n}\n" for n in range(20)))
    with tarfile.open("e.tar", "w") as archive:
        add_members(archive, [(f"{n}.txt", b"x") for n in range(20)])
    return {
        "a.tfrecord": hr.tfrecords,
        "b.csv": lambda path: hr.csv(path, delimiter=";"),
        "c.jsonl": hr.json_lines,
        "d.txt": hr.text_lines,
        "e.tar": hr.webdataset,
    }


def test_index_of_each_kind_is_used_and_provides_the_length():
    sources = write_each_kind()
    for name, source in sources.items():
        with pytest.raises(
            TypeError, match="create index files for uncompressed files with `headrace index PATHS`"
        ):
            len(source(name))
    done = call("index", ".")
    assert done.exit_code == 0
    assert done.stdout == "".join(f"./{name}.hrindex: 20 records\n" for name in sources)
    assert call("index", ".").stdout.count(", up to date\n") == 5
    for name, source in sources.items():
        assert len(source(name).batch(3)) == source(name).batch(3).count() == 7
        count, places = statistics(source(name))
        assert count == 20
        assert (places.opened, places.scanned) == (1, 0)


def test_indexes_in_the_index_directory_are_used():
    write_numbers("a", 3)
    Path("b").touch()
    done = call("index", "a", "b", "--output", "out", "--json")
    first, second = json.loads(done.stdout)["indexes"]
    assert (first["num_records"], first["is_new"]) == (3, True)
    assert (second["num_records"], second["index_path"]) == (0, None)
    assert not Path("a.hrindex").exists()
    pipe = hr.tfrecords(["a", "b"]).options(index_directory="out")
    assert len(pipe) == 3
    assert statistics(pipe)[1].scanned == 1  # The empty file.
    with pytest.raises(TypeError, match="len: "):
        len(hr.tfrecords(["a", "b"]))


def test_file_kind_can_be_set():
    Path("a").write_text("1,2\n3,4\n")
    assert call("index", "a", "--kind", "text").exit_code == 0
    assert len(hr.text_lines("a")) == 2
    assert call("index", "a", "--kind", "csv").exit_code == 0
    assert len(hr.csv("a")) == 1
    assert call("index", "--dali", "a", "--kind", "csv").exit_code == 2


def test_damaged_compressed_and_unsupported_files_get_no_index():
    damage(write_numbers("a", 5), 8)
    write_records("b", [b"x"], "GZIP")
    Path("c").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    for name, expected in (
        ("a", "corrupted record at 0 (record 0)"),
        ("b", "b: the file is compressed with gzip"),
        (
            "c",
            "c: the file's kind is image, but only TFRecords, CSV, JSON lines, tar and text can be "
            "indexed",
        ),
        ("d", "d: no such file"),
    ):
        done = call("index", name, *(("--kind", "tfrecord") if name == "a" else ()))
        assert (done.exit_code, done.stdout) == (1, "")
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list(Path().glob("*.hrindex*"))


def test_unwritable_index_is_an_error():
    write_numbers("a", 5)
    Path("a.hrindex").mkdir()
    done = call("index", "a")
    assert done.exit_code == 1
    assert "a.hrindex" in done.stderr


def test_inspect_shows_whether_an_index_is_up_to_date():
    write_numbers("a", 5)
    call("index", "a")
    done = call("inspect", "a.hrindex")
    assert done.exit_code == 0
    assert "record index, not compressed" in done.stdout
    assert "5 records\n" in done.stdout
    assert "of a (tfrecords, " in done.stdout
    assert "up to date" in done.stdout
    os.utime("a", ns=(5, 5))
    assert "outdated" in call("inspect", "a.hrindex").stdout
    (report,) = json.loads(call("inspect", "a.hrindex", "--json").stdout)["files"]
    assert (report["of"], report["of_kind"], report["count"]) == ("a", "tfrecords", 5)
    assert report["is_current"] is False
    damage(Path("a.hrindex"), 30)
    done = call("inspect", "a.hrindex")
    assert done.exit_code == 1
    assert "the header is damaged" in done.stdout


def test_indexes_from_other_programs_next_to_the_data_are_used():
    sources = write_each_kind()
    call("index", "--dali", "a.tfrecord")
    lines = ["v1.2 20"]
    with tarfile.open("e.tar") as archive:
        lines += [f"txt {member.offset_data} {member.size} {member.name}" for member in archive]
    Path("e.idx").write_text("\n".join(lines))
    for name in ("a.tfrecord", "e.tar"):
        with iter(sources[name](name).shuffle(seed=3).options(index="memory")) as batches:
            expected = list(map(repr, batches))
        with iter(sources[name](name).shuffle(seed=3)) as batches:
            assert list(map(repr, batches)) == expected
            places = batches.statistics().index
        assert (places.opened, places.scanned, places.written) == (1, 0, 0)
        assert len(sources[name](name)) == 20


def test_index_from_another_program_is_verified():
    write_numbers("a", 20)
    call("index", "--dali", "a")
    text = Path("a.idx").read_text()
    first, *others = text.splitlines()
    size = int(first.split()[1])
    moved = f"0 {size + 1}\n{size + 1} {int(others[0].split()[1]) - 1}\n"
    for wrong in (text[:-9], "0 5\n" + text, "x"):
        Path("a.idx").write_text(wrong)
        count, places = statistics(hr.tfrecords("a"))
        assert (count, places.scanned) == (20, 1)
        Path("a.hrindex").unlink()
    Path("a.idx").write_text(moved + "\n".join(others[1:]))
    with pytest.raises(
        errors.FailedPreconditionError,
        match=r"a\.idx: the index does not belong to a: record [01] is not at byte \d+\. A new "
        r"index was written; start again\.",
    ):
        statistics(hr.tfrecords("a"))
    assert statistics(hr.tfrecords("a"))[1].scanned == 0
    Path("a.hrindex").unlink()
    write_numbers("a", 20)
    os.utime("a.idx", ns=(5, 5))
    assert statistics(hr.tfrecords("a"))[1].opened == 0
