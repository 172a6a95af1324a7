"""`headrace inspect`: its output for each kind of file."""

import bz2
import gzip
import json
import os
import struct
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from tests.archives import add_members
from tests.cli.files import call, damage, example, image, write_numbers, write_records
from tests.privileges import unprivileged

from headrace.protos import SequenceExample


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspected(*arguments, code=0):
    """The reports of files."""
    done = call("inspect", "--json", *arguments)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)["files"]


def features_of(report):
    return {feature["name"]: feature for feature in report["features"]}


class TestTFRecords:
    def test_inspect_shows_types_shapes_ranges_and_shares(self):
        write_records(
            "a",
            [
                example(n=-3, x=[0.5, 1.5], ids=[1], text=b"abc", image=image("JPEG")),
                example(n=7, x=[2.5, float("nan")], ids=[4, 5], text=b"\xc3\xa9", image=image()),
                example(n=1, x=[0.0, 0.0], text=b"ab", image=image()),
                example(n=1, x=[0.0, 0.0], text=b"ab", image=image()),
            ],
        )
        [report] = inspected("a")
        assert (report["kind"], report["compression"], report["count"]) == ("tfrecord", None, 4)
        assert report["examples"] == "Example"
        result = features_of(report)
        assert (result["n"]["type"], result["n"]["shape"]) == ("int64", [])
        assert (result["n"]["least"], result["n"]["most"], result["n"]["share"]) == (-3, 7, 1.0)
        assert (result["x"]["type"], result["x"]["shape"]) == ("float", [2])
        assert (result["x"]["least"], result["x"]["most"], result["x"]["not_finite"]) == (
            0.0,
            2.5,
            1,
        )
        assert (result["ids"]["shape"], result["ids"]["lengths"]) == (None, [1, 2])
        assert result["ids"]["share"] == 0.5
        assert (result["text"]["bytes"], result["text"]["format"]) == ([2, 3], "text")
        assert result["image"]["format"] == "JPEG, PNG"
        assert report["first"][0]["values"]["n"] == [-3]

    def test_report_can_be_printed_as_text(self):
        write_records(
            "a.gz", [example(n=n, text=b"word", image=image(seed=n)) for n in range(3)], "GZIP"
        )
        done = call("inspect", "a.gz")
        assert done.exit_code == 0
        lines = done.stdout.splitlines()
        assert lines[0] == "a.gz"
        assert lines[1].startswith("  TFRecord, compressed with gzip, ")
        assert lines[2].startswith("  3 records of ")
        assert lines[3] == "  Examples (all records):"
        assert [line.split() for line in lines[4:8]][2] == [
            "n",
            "int64",
            "[]",
            "100",
            "%",
            "0",
            "…",
            "2",
        ]
        assert lines[8:] == [
            "  record 0:",
            "    image: PNG, 6 x 4, RGB",
            "    n: 0",
            '    text: "word"',
        ]

    def test_features_come_from_the_first_records_but_all_records_are_counted(self):
        write_numbers("a", 50)
        [report] = inspected("a", "--records", 10)
        assert (report["count"], report["looked_at"]) == (50, 10)
        assert features_of(report)["n"]["most"] == 9
        assert (
            "the first 10; use --records N for more" in call("inspect", "a", "--records", 10).stdout
        )

    def test_quick_reads_only_the_first_records(self):
        path = write_numbers("a", 20)
        length = path.stat().st_size // 20
        damage(path, 2 * length + 13)
        damage(path, 15 * length + 13)
        [report] = inspected("a", "--quick", "--records", 5, code=1)
        assert (report["count"], report["looked_at"]) == (None, 5)
        assert features_of(report)["n"]["most"] == 5
        assert [one["record"] for one in report["damage"]] == [2]
        assert "records not counted" in call("inspect", "a", "--quick").stdout
        Path("b").write_text("n,m\n1,2\n3,4\n")
        Path("c").write_text("a text\n")
        assert [one["count"] for one in inspected("b", "c", "--quick")] == [None, None]

    def test_damage_is_shown_with_its_offset_and_the_rest_is_read(self):
        path = write_numbers("a", 20)
        length = path.stat().st_size // 20
        damage(path, 5 * length + 14)
        os.truncate(path, 19 * length + 8)
        [report] = inspected("a", code=1)
        assert report["count"] == 18
        assert [(one["record"], one["offset_bytes"]) for one in report["damage"]] == [
            (5, 5 * length),
            (19, 19 * length),
        ]
        text = call("inspect", "a").stdout
        assert f"record 5 at byte {5 * length}: corrupted record" in text
        assert "copy the file again" in text
        assert "2 damaged" in text

    def test_name_identifies_a_tfrecord_file_with_a_damaged_first_header(self):
        damage(write_numbers("a.tfrecord", 3), 0)
        [report] = inspected("a.tfrecord", code=1)
        assert (report["kind"], report["count"]) == ("tfrecord", 0)
        assert report["damage"][0]["record"] == 0

    def test_feature_lists_of_sequence_examples_are_shown(self):
        message = SequenceExample()
        message.context.feature["id"].int64_list.value.append(3)
        for step in range(4):
            message.feature_lists.feature_list["x"].feature.add().float_list.value.append(step)
        write_records("a", [message.SerializeToString()])
        [report] = inspected("a")
        assert report["examples"] == "SequenceExample"
        assert features_of(report).keys() == {"id"}
        [steps] = report["feature_lists"]
        assert (steps["name"], steps["lengths"], steps["most"]) == ("x", [4, 4], 3.0)

    def test_records_that_are_not_examples_are_shown_as_bytes(self):
        write_records("a", [b"", b"\xff\xff\xff"])
        [report] = inspected("a")
        assert (report["examples"], report["no_examples"]) == ("bytes", 2)
        assert report["bytes"] == {"total": 3, "least": 0, "most": 3}

    def test_images_are_written_as_png(self):
        write_records("a", [example(**{"x/../y": image("JPEG", seed=3)})])
        [report] = inspected("a", "--png", "out")
        assert report["pictures"] == ["out/a-0-x_.._y.png"]
        with Image.open("out/a-0-x_.._y.png") as picture:
            assert (picture.format, picture.size) == ("PNG", (6, 4))

    def test_control_characters_in_text_are_escaped(self):
        write_records("a", [example(text=b"\x1b[31mred\x1b[0m \xe2\x80\xae")])
        done = call("inspect", "a")
        assert done.exit_code == 0
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout


class TestOtherKinds:
    def test_csv_columns_are_shown(self):
        Path("a").write_text("n,x,name\n1,0.5,a\n2,,bb\n")
        [report] = inspected("a")
        assert (report["kind"], report["unit"], report["count"]) == ("csv", "rows", 2)
        result = features_of(report)
        assert [result[name]["type"] for name in ("n", "x", "name")] == ["int64", "float32", "str"]
        assert result["x"]["not_finite"] == 1

    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_other_csv_delimiters_are_detected(self, delimiter):
        Path("a").write_text("n,x\n1,2\n3,4\n".replace(",", delimiter))
        [report] = inspected("a")
        assert (report["kind"], report["count"]) == ("csv", 2)
        assert features_of(report).keys() == {"n", "x"}

    def test_line_with_a_wrong_number_of_fields_counts_as_damage(self):
        Path("a").write_text("n,x\n1,2\n3,4\n5\n7,8\n9,10\n")
        [report] = inspected("a", code=1)
        assert (report["count"], report["damage"][0]["record"]) == (4, 3)
        assert "line 4: got 1 fields" in report["damage"][0]["reason"]

    def test_json_lines_columns_are_shown(self):
        Path("a").write_text('{"n": 1, "ids": [1, 2]}\n{"n": 2, "ids": []}\n')
        [report] = inspected("a")
        assert (report["kind"], report["count"]) == ("json lines", 2)
        assert features_of(report)["ids"]["lengths"] == [0, 2]

    def test_archive_samples_are_shown(self):
        with tarfile.open("a", "w") as archive:
            add_members(archive, [("k/1.png", image()), ("k/1.cls", b"3")])
        [report] = inspected("a")
        assert (report["kind"], report["unit"], report["count"]) == ("tar", "samples", 1)
        assert features_of(report)["png"]["format"] == "PNG"
        assert report["first"][0]["values"]["__key__"] == "k/1"

    def test_parquet_shows_columns_of_any_type(self):
        table = pa.table(
            {
                "n": pa.array([1, None], pa.int32()),
                "when": pa.array([0, 1], pa.timestamp("ms")),
                "ids": [[1, 2], []],
                "none": pa.array([None, None], pa.string()),
            }
        )
        pyarrow.parquet.write_table(table, "a", compression="zstd")
        [report] = inspected("a")
        assert (report["kind"], report["count"], report["codecs"]) == ("parquet", 2, ["zstd"])
        result = features_of(report)
        assert result["n"]["share"] == 0.5
        assert result["when"]["type"] == "timestamp[ms]"
        assert result["ids"]["lengths"] == [0, 2]
        assert (result["none"]["type"], result["none"]["share"]) == ("string", 0.0)
        assert call("inspect", "a").exit_code == 0

    def test_image_size_and_format_are_shown(self):
        Path("a").write_bytes(image("JPEG", (30, 20)))
        [report] = inspected("a")
        assert (report["format"], report["width"], report["height"]) == ("JPEG", 30, 20)
        Path("a").write_bytes(image("JPEG", (30, 20))[:300])
        [report] = inspected("a", code=1)
        assert report["damage"]

    def test_text_of_any_encoding_is_recognised(self):
        Path("a").write_bytes("eins\nzwölf\n".encode("latin-1"))
        [report] = inspected("a")
        assert (report["kind"], report["count"]) == ("text", 2)

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"PK\x03\x04" + bytes(40), "a zip archive"),
            (b"\x93NUMPY\x01" + bytes(40), "a NumPy array"),
            (bytes(100), None),
        ],
    )
    def test_unknown_files_are_identified_if_possible(self, data, expected):
        Path("a").write_bytes(data)
        [report] = inspected("a")
        assert report["kind"] == "unknown"
        assert (report["looks_like"] or "").startswith(expected or "")
        assert call("inspect", "a").exit_code == 0

    def test_empty_file_is_reported_as_empty(self):
        Path("a").touch()
        [report] = inspected("a")
        assert (report["kind"], report["size_bytes"]) == ("empty", 0)

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
    def test_compressed_files_are_described_by_their_contents(self, pack):
        Path("a").write_bytes(pack(b"n,x\n1,2\n3,4\n"))
        [report] = inspected("a")
        assert (report["kind"], report["count"]) == ("csv", 2)

    def test_truncated_compressed_data_counts_as_damage(self):
        Path("a").write_bytes(gzip.compress(b"n,x\n" + b"1,2\n" * 10_000)[:-20])
        [report] = inspected("a", code=1)
        assert report["kind"] == "csv"
        assert "the compressed data ends too early" in report["damage"][0]["reason"]

    def test_nan_and_infinity_are_null_in_json(self):
        write_records("a", [example(x=float("inf"))])
        text = call("inspect", "--json", "a").stdout
        assert "Infinity" not in text
        assert json.loads(text)["files"][0]["first"][0]["values"] == {"x": [None]}


class TestSeveralFiles:
    def test_unreadable_file_does_not_stop_the_others(self):
        write_numbers("a", 1)
        write_numbers("b", 2)
        done = call("inspect", "a", "nowhere", "b")
        assert done.exit_code == 1
        assert done.stderr.startswith("headrace: inspect: nowhere: no such file")
        assert "\n\nb\n" in done.stdout

    def test_patterns_and_directories_are_expanded(self):
        Path("d").mkdir()
        write_numbers("d/a", 1)
        write_numbers("d/b", 2)
        assert [one["file"] for one in inspected("d")] == ["d/a", "d/b"]
        assert [one["count"] for one in inspected("d/*", "d/a")] == [1, 2, 1]

    def test_subdirectories_are_listed(self):
        for name in ("d/x/a", "d/y/b", "d/.hidden/c", "d/y/.hidden"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            write_numbers(name, 1)
        assert [one["file"] for one in inspected("d")] == ["d/x/a", "d/y/b"]
        done = call("verify", "d")
        assert (done.exit_code, done.stdout[:7]) == (0, "2 files")

    def test_folder_is_summarized(self):
        for number in range(120):
            folder = Path("d", f"class {number % 30:02}")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(image(seed=number))
        for number in range(30):
            write_records(f"d/{number:02}.tfrecord", [example(**{f"f{n}": [n] for n in range(40)})])
        done = call("inspect", "d")
        assert done.exit_code == 0
        lines = done.stdout.splitlines()
        assert len(lines) <= 40
        assert lines[0] == "d"
        assert lines[1].startswith("  150 files, ")
        rows = [line.split() for line in lines[2:5]]
        assert rows[0] == ["kind", "files", "size", "content"]
        assert (rows[1][:3], rows[2][:2], rows[2][-2:]) == (
            ["PNG", "image", "120"],
            ["TFRecord", "30"],
            ["30", "records"],
        )
        assert lines[5].startswith("  30 folders: class 00 (4 files), class 01 (4 files), ")
        assert lines[5].endswith(" and 25 more")
        assert lines[6] == "  the first TFRecord file is d/00.tfrecord:"
        assert "    and more; run headrace inspect d/00.tfrecord to see all" in lines

    def test_damage_in_a_folder_is_listed_and_exits_with_1(self):
        Path("d").mkdir()
        for number in range(9):
            write_numbers(f"d/{number}", 3)
            damage(Path(f"d/{number}"), 20)
        done = call("inspect", "d", "d/0")
        assert done.exit_code == 1
        lines = done.stdout.splitlines()
        begin = lines.index("  damage in 9 files:")
        assert lines[begin + 1].startswith("    d/0: record 0 at byte 0: ")
        assert lines[begin + 6] == "    and 4 more; run headrace verify to see all"
        assert "d/0" in lines[begin + 7 :]

    def test_unreadable_files_in_a_folder_are_counted(self):
        Path("d").mkdir()
        write_numbers("d/a", 2)
        os.mkfifo("d/pipe")
        done = call("inspect", "d")
        assert done.exit_code == 1
        assert "d/pipe" in done.stderr
        assert done.stdout.splitlines()[1].endswith("; 1 could not be read")

    def test_pipe_is_rejected(self):
        os.mkfifo("pipe")
        done = call("inspect", "pipe")
        assert done.exit_code == 1
        assert "pipe: this is not a regular file" in done.stderr

    def test_error_names_a_file_without_read_permission(self):
        write_numbers("a", 1).chmod(0)
        Path().chmod(0o755)
        with unprivileged():
            done = call("inspect", "./a")
        assert done.exit_code == 1
        assert "./a; Permission denied" in done.stderr


def test_folder_examples_are_shown_on_request(here):
    for name in ("a", "b"):
        Path("pages", name).mkdir(parents=True)
        Path("pages", name, "n.csv").write_text(f"name\n{name}1\n{name}2\n")
    assert "record 0" not in call("inspect", "pages").stdout
    shown = call("inspect", "pages", "--examples", "3").stdout.splitlines()
    names = [line.strip() for line in shown if line.startswith("    name: ")]
    assert names == ['name: "a1"', 'name: "a2"', 'name: "b1"']


def test_record_that_claims_a_huge_length_needs_no_memory(here):
    length = struct.pack("<Q", 1 << 62)
    Path("a.tfrecord").write_bytes(length + bytes(4))
    [report] = inspected("a.tfrecord", code=1)
    assert report["count"] == 0
