"""`headrace verify`: its results and its exit status."""

import gzip
import json
import lzma
import os
import tarfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.archives import add_members
from tests.cli.files import call, damage, image, write_numbers


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(*arguments):
    """The exit code, and the report of each file, by name."""
    done = call("verify", "--json", *arguments)
    document = json.loads(done.stdout)
    assert document["whole"] == (done.exit_code == 0)
    return done.exit_code, {one["file"]: one for one in document["files"]}


def test_intact_files_exit_with_0():
    write_numbers("a", 10)
    write_numbers("b", 20)
    code, results = verified("a", "b")
    assert code == 0
    assert [(one["records"], one["damage"]) for one in results.values()] == [(10, []), (20, [])]
    done = call("verify", "a", "b")
    assert done.stdout.startswith("2 files, 30 intact records, ")
    assert done.stdout.endswith(": no damage\n")
    assert "a: undamaged, 10 records\n" in call("verify", "-v", "a").stdout


def test_each_damaged_record_is_reported_and_the_rest_is_read():
    for name in ("a", "b", "c"):
        length = write_numbers(name, 100).stat().st_size // 100
    damage(Path("b"), 7 * length + 13)
    damage(Path("b"), 40 * length + 13)
    damage(Path("c"), 90 * length)
    code, results = verified("a", "b", "c")
    assert code == 1
    indices = {
        name: [(one["record"], one["offset_bytes"]) for one in result["damage"]]
        for name, result in results.items()
    }
    assert indices == {"a": [], "b": [(7, 7 * length), (40, 40 * length)], "c": [(90, 90 * length)]}
    assert [one["records"] for one in results.values()] == [100, 98, 90]
    text = call("verify", "a", "b", "c").stdout
    assert f"b: record 7 at byte {7 * length}: corrupted record" in text
    assert "3 damaged places in 2 files" in text
    assert (
        "The rest of the file, about 10 records, judging by the length of the earlier ones, was not"
    ) in text


def test_result_does_not_depend_on_the_number_of_threads():
    write_numbers("a", 5000)
    for offset in (100, 5000, 90_000):
        damage(Path("a"), offset)
    assert verified("a", "--threads", 1) == verified("a", "--threads", 3)


@pytest.mark.parametrize("cut", [1, 30])
def test_truncated_compressed_files_are_damaged(cut):
    write_numbers("plain", 1000)
    Path("a").write_bytes(gzip.compress(Path("plain").read_bytes())[:-cut])
    code, results = verified("a")
    assert code == 1
    assert "compressed data ends too early" in results["a"]["damage"][0]["reason"]


def test_compressed_file_with_a_wrong_checksum_is_damaged():
    write_numbers("plain", 1000)
    Path("a").write_bytes(gzip.compress(Path("plain").read_bytes()))
    damage(Path("a"), -6)
    assert verified("a")[0] == 1


def test_images_are_decoded():
    Path("a.png").write_bytes(image(size=(40, 30)))
    Path("b.jpg").write_bytes(image("JPEG", size=(40, 30)))
    Path("c.png").write_bytes(image(size=(40, 30))[:-400])
    code, results = verified("a.png", "b.jpg", "c.png")
    assert code == 1
    assert [len(one["damage"]) for one in results.values()] == [0, 0, 1]
    assert "DecodeImage" not in results["c.png"]["damage"][0]["reason"]


def test_rows_lines_and_samples_are_parsed():
    Path("a.csv").write_text("n,m\n" + "1,2\n" * 10 + "3\n")
    Path("a.jsonl").write_text('{"n": 1}\n' * 10 + '{"n": \n')
    with tarfile.open("a.tar", "w") as archive:
        add_members(archive, [("1.x", b""), ("1.y", b""), ("2.x", b"")])
    code, results = verified("a.csv", "a.jsonl", "a.tar")
    assert code == 1
    assert [(one["records"], len(one["damage"])) for one in results.values()] == [
        (10, 1),
        (10, 1),
        (1, 1),
    ]


def test_parquet_pages_are_checked():
    table = pa.table({"n": list(range(1000))})
    pyarrow.parquet.write_table(
        table, "a", compression="none", use_dictionary=False, write_page_checksum=True
    )
    assert verified("a")[0] == 0
    damage(Path("a"), 2000)
    code, results = verified("a")
    assert code == 1
    assert "Copy the file again." in results["a"]["damage"][0]["reason"]
    os.truncate("a", 3000)
    assert verified("a")[0] == 1


def test_unreadable_file_exits_with_1_and_the_rest_is_read():
    write_numbers("a", 3)
    done = call("verify", "nowhere", "a")
    assert done.exit_code == 1
    assert "headrace: verify: nowhere: no such file" in done.stderr
    assert done.stdout.endswith(": 1 file could not be read\n")
    assert "1 file, 3 intact records" in done.stdout


def test_file_of_an_unknown_kind_cannot_be_checked():
    Path("a").write_bytes(bytes(100))
    code, results = verified("a")
    assert code == 1
    assert results["a"]["damage"][0]["reason"].startswith("this file is of an unknown kind")


def test_empty_file_is_valid_and_a_repeated_file_is_read_once():
    Path("a").touch()
    write_numbers("b", 2)
    code, results = verified("a", "b", "b")
    assert code == 0
    assert [one["records"] for one in results.values()] == [0, 2]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        (
            "a.jpg",
            b"<html>404\n",
            "this is an HTML page, but by its name it should be image. Copy it",
        ),
        (
            "a.jpg",
            b"no image\n",
            "this is text, but by its name it should be image. Copy it again.",
        ),
        ("a.png", b"", "this file is empty, but by its name it should be image."),
        ("a.parquet", b"x,y\n1,2\n", "this is text, but by its name it should be parquet."),
        ("a.tfrecord", b"one\n", "this is text, but by its name it should be tfrecord."),
        ("a.jsonl.gz", b"", "this file is empty, but by its name it should be compressed."),
        ("a", b"PK\x03\x04\0", "this file looks like a zip archive"),
        ("a", b"version https://git-lfs.github.com/spec/v1\n", "the file is a Git LFS pointer"),
    ],
)
def test_file_that_contradicts_its_name_is_damaged(name, data, reason):
    Path(name).write_bytes(data)
    code, results = verified(name)
    assert code == 1
    assert reason in results[name]["damage"][0]["reason"]


@pytest.mark.parametrize(
    "compress", [lzma.compress, zlib.compress, lambda data: zlib.compress(data, 3)]
)
def test_all_kinds_of_compressed_files_are_checked(compress):
    Path("a").write_bytes(compress(b"one\ntwo\n") * 2)
    code, results = verified("a")
    assert (code, results["a"]["records"]) == (0, 4)
    assert results["a"]["compression"] in ("xz", "zlib")
    Path("a").write_bytes(compress(b"one\ntwo\n") + b"rest")
    code, results = verified("a")
    assert code == 1
    assert "a: undamaged" not in call("verify", "-v", "a").stdout


def test_control_characters_in_names_are_escaped():
    Path("a\r\x1b[2J").write_bytes(b"text\n")
    done = call("verify", "-v", "a\r\x1b[2J", "gone\r")
    assert "a\\r\\x1b[2J: undamaged" in done.stdout
    assert not set(done.stdout + done.stderr) & {"\r", "\x1b"}
