"""`headrace convert` between formats: its output, round trips and errors."""

import csv
import gzip
import json
import math
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from tests.cli.files import (
    call,
    example,
    image,
    numbers_of,
    read_examples,
    write_numbers,
    write_records,
)

import headrace as hr


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def converted(*arguments):
    """Converts, and checks that it succeeds."""
    done = call("convert", *arguments)
    assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refused(*arguments, code=1):
    """Converts, and returns the error message."""
    done = call("convert", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert not list(Path().glob(".*")), "nothing is left behind"
    return done.stderr


def make_images():
    for name, kind in (("cat/a.png", "PNG"), ("cat/deep/b.jpg", "JPEG"), ("dog/a.png", "PNG")):
        path = Path("photos", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image(kind, seed=len(name)))


class TestToTFRecords:
    def test_csv_columns_become_features(self):
        Path("a.csv").write_text('n,x,name\n1,0.5,"a, b"\n2,,c\n')
        assert "--default 'x=VALUE'" in refused("a.csv", "a.tfrecord")
        output = converted("a.csv", "a.tfrecord", "--default", "x=nan")
        assert output == "2 examples in 1 file: a.tfrecord\n"
        first, second = read_examples("a.tfrecord")
        assert first == {"n": [1], "name": [b"a, b"], "x": [0.5]}
        assert math.isnan(second["x"][0])

    def test_column_types_and_defaults_can_be_set(self):
        Path("a.csv").write_text("zip,n\n01234,\n99999,4\n")
        converted("a.csv", "a.tfrecord", "--column", "zip=str", "--column", "n=int",
                  "--default", "n=-1")  # fmt: skip
        assert read_examples("a.tfrecord") == [
            {"n": [-1], "zip": [b"01234"]},
            {"n": [4], "zip": [b"99999"]},
        ]

    def test_first_line_that_looks_like_data_is_not_lost(self):
        Path("a.csv").write_text("1,0.5\n2,1.5\n")
        assert "the first line has the number '1' as the name of a column" in refused(
            "a.csv", "a.tfrecord"
        )
        assert "Pass --column NAME=TYPE" in refused("a.csv", "a.tfrecord", "--no-header")
        converted("a.csv", "a.tfrecord", "--no-header", "--column", "n=int", "--column", "x=float")
        assert read_examples("a.tfrecord") == [{"n": [1], "x": [0.5]}, {"n": [2], "x": [1.5]}]
        converted("a.csv", "b.tfrecord", "--header")
        assert read_examples("b.tfrecord") == [{"1": [2], "0.5": [1.5]}]
        assert "it may be data" in call("inspect", "a.csv").stdout

    def test_nested_json_becomes_text(self):
        rows = [
            {"n": 1, "a": {"x": [1, None]}, "b": [[1, 2], [3]]},
            {"n": 2, "a": {"x": []}, "b": []},
        ]
        Path("a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        converted("a.jsonl", "a.tfrecord")
        parsed = hr.tfrecords("a.tfrecord").parse({"n": int, "a": str, "b": str})
        assert [{**row, **{name: json.loads(row[name]) for name in "ab"}} for row in parsed] == rows

    def test_json_lists_stay_lists(self):
        Path("a.jsonl").write_text(
            '{"n": 1, "ids": [1, 2], "t": ["a"]}\n{"n": 2, "ids": [], "t": []}\n'
        )
        converted("a.jsonl", "a.tfrecord")
        assert read_examples("a.tfrecord") == [
            {"ids": [1, 2], "n": [1], "t": [b"a"]},
            {"ids": [], "n": [2], "t": []},
        ]

    def test_doubles_that_float32_cannot_represent_are_rejected(self):
        table = {"n": pyarrow.array([1, 2], "uint64"), "x": [0.5, math.nan], "y": [-1e30, 0.1]}
        pyarrow.parquet.write_table(pyarrow.table(table), "a.parquet")
        assert refused("a.parquet", "a.tfrecord", "--shards", 2) == (
            "headrace: feature 'y': example 0 has the value -1e+30, but an Example stores "
            "float32, which would change it to -1.0000000150474662e+30. Use --cast y=float32 to "
            "round it, or --cast y=str to store it as text, or drop it with --select.\n"
        )
        assert [path.name for path in Path().iterdir()] == ["a.parquet"]
        converted("a.parquet", "a.tfrecord", "--select", "n", "--select", "x")
        first, second = read_examples("a.tfrecord")
        assert first == {"n": [1], "x": [0.5]}
        assert math.isnan(second["x"][0])

    def test_error_lists_all_features_whose_numbers_would_change(self):
        Path("a.csv").write_text("t,k,ok\n1700000001.25,0.1,0.1\n1.5,0.12345678901,1e30\n")
        message = refused("a.csv", "a.tfrecord")
        assert (
            "feature 't': example 0 has the value 1700000001.25, but an Example stores float32"
            in message
        )
        assert "would change it to 1700000000.0. Use --cast t=float32 to round" in message
        assert message.endswith("Values of 'k' would change, too.\n")
        converted("a.csv", "a.tfrecord", "--cast", "t=str", "--cast", "k=float32")

        def narrow(number):
            return float(np.float32(number))

        assert read_examples("a.tfrecord") == [
            {"t": [b"1700000001.25"], "k": [narrow(0.1)], "ok": [narrow(0.1)]},
            {"t": [b"1.5"], "k": [narrow(0.12345678901)], "ok": [narrow(1e30)]},
        ]

    def test_large_integers_in_lists_are_rejected(self):
        Path("a.jsonl").write_text(
            '{"x": [1.5, 2], "n": 1}\n{"x": [0.12345678901], "n": 18446744073709551615}\n'
        )
        message = refused("a.jsonl", "a.tfrecord", "--select", "x")
        assert "feature 'x': example 1 has the value 0.12345678901" in message
        message = refused("a.jsonl", "a.tfrecord", "--cast", "x=float32")
        assert (
            "feature 'n': example 1 has the value 18446744073709551615, but an Example stores int64"
            in message
        )
        assert (
            "but an Example stores int64, so it can be at most 9223372036854775807. Use --cast "
            "n=str to store it as text"
        ) in message
        converted("a.jsonl", "a.tfrecord", "--cast", "x=float32", "--cast", "n=str")
        assert [one["n"] for one in read_examples("a.tfrecord")] == [
            [b"1"],
            [b"18446744073709551615"],
        ]

    def test_numeric_text_that_float32_can_represent_is_converted(self):
        Path("a.csv").write_text("x\n0.1\n1e+30\n-2.5e-7\n")
        converted("a.csv", "a.tfrecord", "--column", "x=float64")
        assert [one["x"] for one in read_examples("a.tfrecord")] == [
            [float(np.float32(one))] for one in (0.1, 1e30, -2.5e-7)
        ]
        Path("a.csv").write_text("x\n0.1\n123456790.0\n")
        message = refused("a.csv", "b.tfrecord", "--column", "x=float64")
        assert "example 1 has the value 123456790.0, but an Example stores float32" in message
        assert "which would change it to 123456792.0." in message

    @pytest.mark.parametrize(("number", "output"), [(1e300, "inf"), (1e-300, "0.0")])
    def test_cast_rounds_floats_and_rejects_other_lossy_conversions(self, number, output):
        table = pyarrow.table({"x": [1.0, number], "n": [7, 2**53 + 1]})
        pyarrow.parquet.write_table(table, "a.parquet")
        message = refused("a.parquet", "a.tfrecord", "--cast", "x=float32")
        assert f"example 1 has the value {number}, but an Example stores float32" in message
        assert f"would change it to {output}. Use --cast x=str" in message
        converted("a.parquet", "a.tfrecord", "--cast", "x=str", "--cast", "n=float32")
        assert read_examples("a.tfrecord") == [
            {"n": [7.0], "x": [b"1.0"]},
            {"n": [float(2**53)], "x": [str(number).encode()]},
        ]

    def test_image_folder_yields_labels_classes_and_relative_paths(self):
        make_images()
        converted("photos", "photos.tfrecord")
        examples = read_examples("photos.tfrecord")
        assert [one["path"] for one in examples] == [
            [b"cat/a.png"],
            [b"cat/deep/b.jpg"],
            [b"dog/a.png"],
        ]
        assert [one["label"] for one in examples] == [[0], [0], [1]]
        assert [one["class"] for one in examples] == [[b"cat"], [b"cat"], [b"dog"]]
        assert examples[0]["data"] == [Path("photos/cat/a.png").read_bytes()]

    def test_images_without_classes_are_named_by_path(self):
        Path("a.png").write_bytes(image())
        converted("a.png", "a.tfrecord")
        assert read_examples("a.tfrecord") == [{"data": [image()], "path": [b"a.png"]}]

    def test_text_lines_become_examples(self):
        Path("a.txt").write_text("one\ntwo\n")
        converted("a.txt", "a.tfrecord")
        assert read_examples("a.tfrecord") == [{"text": [b"one"]}, {"text": [b"two"]}]

    def test_any_records_are_copied_unchanged(self):
        write_records("a", [b"", b"no example", b"\xff" * 100], "GZIP")
        converted("a", "b.tfrecord")
        converted("b.tfrecord", "c.tfrecord", "--compression", "zlib")
        write_records("expected", [b"", b"no example", b"\xff" * 100])
        assert Path("b.tfrecord").read_bytes() == Path("expected").read_bytes()
        converted("c.tfrecord", "d.tfrecord")
        assert Path("d.tfrecord").read_bytes() == Path("expected").read_bytes()

    def test_features_are_selected_and_renamed(self):
        write_numbers("a", 2, m=7)
        converted("a", "b.tfrecord", "--select", "n", "--rename", "n=count")
        assert read_examples("b.tfrecord") == [{"count": [0]}, {"count": [1]}]

    def test_source_is_recognised_by_its_content(self):
        Path("a.tfrecord").write_text('{"n": 1}\n{"n": 2}\n')
        converted("a.tfrecord", "b.tfrecord")
        assert numbers_of("b.tfrecord") == [1, 2]


class TestShards:
    def test_shards_are_even_and_in_order(self):
        write_numbers("a", 10)
        converted("a", "b.tfrecord", "--shards", 3)
        names = [f"b-0000{shard}-of-00003.tfrecord" for shard in range(3)]
        assert sorted(map(str, Path().glob("b*"))) == names
        assert [numbers_of(name) for name in names] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]

    @pytest.mark.parametrize(
        "line", ['{"ids": [1, 2]}', '{"row": "a"}', '{"t": "a", "ids": []}', '{"row": 1, "t": "a"}']
    )
    def test_examples_of_any_kind_are_counted(self, line):
        Path("a.jsonl").write_text(f"{line}\n" * 5)
        if line.endswith("[]}"):
            Path("a.jsonl").write_text('{"t": "b", "ids": [1]}\n' + f"{line}\n" * 4)
        converted("a.jsonl", "b.tfrecord", "--shards", 2)
        counts = [len(read_examples(path)) for path in sorted(Path().glob("b-*"))]
        assert counts == [2, 3]

    def test_shard_ends_once_it_reaches_shard_bytes(self):
        write_records("a", [bytes(400)] * 10)
        converted("a", "b.tfrecord", "--shard-bytes", "1K")
        sizes = [path.stat().st_size for path in sorted(Path().glob("b-*.tfrecord"))]
        assert sizes == [3 * 416, 3 * 416, 3 * 416, 416]

    def test_shuffle_writes_each_example_once_and_depends_on_the_seed(self):
        write_numbers("a", 100)
        results = {}
        for seed in (1, 1, 2):
            name = f"{seed}-{len(results)}.tfrecord"
            converted("a", name, "--shuffle", seed)
            results[name] = numbers_of(name)
            assert sorted(results[name]) == list(range(100))
        first, second, third = results.values()
        assert first == second != third

    def test_compressed_source_is_shuffled_only_within_a_window(self):
        write_records("a", [example(n=n) for n in range(50)], "GZIP")
        message = refused("a", "b.tfrecord", "--shuffle", 1)
        assert "a: the file is compressed" in message
        converted("a", "b.tfrecord", "--shuffle", 1, "--window", 20)
        numbers = numbers_of("b.tfrecord")
        assert sorted(numbers) == list(range(50)) != numbers

    def test_more_shards_than_examples_are_rejected(self):
        write_numbers("a", 2)
        assert "there are only 2 examples for 3 shards" in refused("a", "b.tfrecord", "--shards", 3)

    def test_several_sources_are_concatenated(self):
        write_numbers("a", 2)
        write_numbers("b", 1)
        converted("b", "a", "c.tfrecord")
        assert numbers_of("c.tfrecord") == [0, 0, 1]


class TestFromTFRecords:
    def write(self):
        write_records(
            "a",
            [
                example(n=1, x=0.1, text=b'say "a",\n\xc3\xa9', ids=[1, 2], raw=b"\xff\0"),
                example(n=-2, x=1e30, text=b"", ids=[3], raw=b"\xfe"),
            ],
        )

    def test_csv_is_quoted_where_needed_and_round_trips(self):
        self.write()
        converted("a", "a.csv", "--select", "n", "--select", "x", "--select", "text")
        assert Path("a.csv").read_text() == 'n,x,text\n1,0.1,"say ""a"",\né"\n-2,1e+30,""\n'
        with open("a.csv", newline="") as file:
            assert [row["text"] for row in csv.DictReader(file)] == ['say "a",\né', ""]
        converted("a.csv", "b.tfrecord")
        converted("a", "c.tfrecord", "--select", "n", "--select", "x", "--select", "text")
        assert read_examples("b.tfrecord") == read_examples("c.tfrecord")

    def test_missing_value_of_a_single_column_is_a_quoted_empty_field(self):
        write_records("a", [example(x=1.5), example(x=math.nan), b"\n\0", example(x=2.0)])
        converted("a", "a.csv")
        assert Path("a.csv").read_text() == 'x\n1.5\n""\n""\n2.0\n'
        converted("a.csv", "b.tfrecord", "--default", "x=nan")
        assert [str(one["x"][0]) for one in read_examples("b.tfrecord")] == [
            "1.5",
            "nan",
            "nan",
            "2.0",
        ]

    def test_json_lines_with_lists_and_bytes_round_trip(self):
        self.write()
        converted("a", "a.jsonl", "--base64", "raw")
        first, _ = map(json.loads, Path("a.jsonl").read_text().splitlines())
        assert first == {"n": 1, "x": 0.1, "text": 'say "a",\né', "ids": [1, 2], "raw": "/wA="}
        converted("a.jsonl", "b.tfrecord", "--base64", "raw")
        assert Path("b.tfrecord").read_bytes() == Path("a").read_bytes()

    def test_parquet_has_types_and_checksums_and_round_trips(self):
        self.write()
        converted("a", "a.parquet", "--compression", "zstd")
        table = pyarrow.parquet.read_table("a.parquet", page_checksum_verification=True)
        assert {field.name: str(field.type) for field in table.schema} == {
            "n": "int64",
            "x": "float",
            "text": "string",
            "ids": "list<element: int64>",
            "raw": "binary",
        }
        converted("a.parquet", "b.tfrecord")
        assert Path("b.tfrecord").read_bytes() == Path("a").read_bytes()

    def test_tar_has_one_sample_per_example_and_round_trips(self):
        self.write()
        converted("a", "a.tar", "--rename", "raw=seg.bin")
        with tarfile.open("a.tar") as archive:
            contents = {one.name: archive.extractfile(one).read() for one in archive}
        assert list(contents) == [
            f"00000000{number}.{extension}"
            for number in range(2)
            for extension in ("ids", "n", "seg.bin", "text", "x")
        ]
        assert contents["000000000.seg.bin"] == b"\xff\0"
        assert contents["000000000.ids"] == b"[1, 2]"
        assert contents["000000001.x"] == b"1e+30"
        converted("a.tar", "b.tfrecord")
        first, _ = read_examples("b.tfrecord")
        assert first["__key__"] == [b"000000000"]
        assert (first["n"], first["seg.bin"]) == ([b"1"], [b"\xff\0"])
        converted("b.tfrecord", "b.tar")
        assert Path("b.tar").read_bytes() == Path("a.tar").read_bytes()

    def test_image_folder_is_restored(self):
        make_images()
        converted("photos", "a.tfrecord")
        converted("a.tfrecord", "again/")
        before, after = (
            {str(path.relative_to(root)): path.read_bytes() for path in Path(root).rglob("*.*")}
            for root in ("photos", "again")
        )
        assert before == after
        assert len(before) == 3

    def test_class_numbers_sort_numerically(self):
        write_records("a", [example(image=image(seed=n), label=n) for n in (2, 10)])
        converted("a", "b", "--to", "image-folder")
        names = sorted(str(path.relative_to("b")) for path in Path("b").rglob("*.png"))
        assert names == ["02/000000000.png", "10/000000001.png"]

    def test_csv_and_json_lines_are_compressed_according_to_their_name(self):
        write_numbers("a", 3)
        converted("a", "a.csv.gz", "--shards", 1)
        with gzip.open("a-00000-of-00001.csv.gz") as file:
            assert file.read() == b"n\n0\n1\n2\n"

    def test_feature_missing_from_some_examples_is_skipped(self):
        write_records("a", [example(n=1, m=2), example(n=3)])
        converted("a", "a.csv")
        assert Path("a.csv").read_text() == "m,n\n2,1\n,3\n"
        converted("a", "a.jsonl")
        assert Path("a.jsonl").read_text() == '{"m":2,"n":1}\n{"n":3}\n'


class TestRefusals:
    @pytest.mark.parametrize(
        ("features", "output", "expected"),
        [
            ({"x": [1, 2]}, "b.csv", "feature 'x' is a list, but a CSV field holds a single value"),
            (
                {"x": b"\xff"},
                "b.csv",
                "feature 'x' contains bytes that are not text. Use --base64 x",
            ),
            ({"x": b"\xff"}, "b.jsonl", "feature 'x' contains bytes that are not text"),
            ({"x": float("nan")}, "b.jsonl", "example 0 has an infinite"),
            ({"a/B": b"x"}, "b.tar", "feature 'a/B' cannot be used as a file extension"),
            ({"__key__": b"a.b", "x": 1}, "b.tar", "the key 'a.b', but a key cannot contain dots"),
            ({"__key__": b"../b", "x": 1}, "b.tar", "the key '../b'"),
            ({"x": 1}, "b/", "cannot tell which feature is the image of an image folder"),
            (
                {"image": image(), "n": 1},
                "b/",
                "cannot tell which feature is the label of an image folder",
            ),
        ],
    )
    def test_error_names_the_feature_a_format_cannot_store(self, features, output, expected):
        write_records("a", [example(**features)])
        message = refused("a", output)
        assert message.startswith("headrace: ")
        assert expected in message
        assert message.count("\n") == 1
        assert [path.name for path in Path().iterdir()] == ["a"]

    @pytest.mark.parametrize("name", [b"../../evil.png", b"..", b"a/../../evil.png"])
    def test_no_image_is_written_outside_the_folder(self, name):
        write_records("a", [example(image=image(), label=1, path=name)])
        done = call("convert", "a", "b/")
        if done.exit_code == 0:
            assert [str(path) for path in Path("b").rglob("*.png")] == ["b/1/evil.png"]
        else:
            assert "is not a file name" in done.stderr
        assert not list(Path("..").glob("*.png"))

    @pytest.mark.parametrize("name", [b"..", b"a/b", b".hidden", b""])
    def test_class_cannot_escape_the_folder(self, name):
        write_records("a", [example(image=image(), label=name)])
        assert "cannot be the name of a directory" in call("convert", "a", "b/").stderr

    def test_images_with_the_same_name_are_rejected(self):
        write_records("a", [example(image=image(), label=1, path=b"x/1.png")] * 2)
        assert (
            "example 1 would be written to 1/1.png, like an earlier example"
            in call("convert", "a", "b/").stderr
        )

    def test_samples_with_the_same_key_are_rejected(self):
        write_records("a", [example(__key__=b"k", x=1)] * 2)
        assert "example 1 has the same key as the one before it, 'k'" in refused("a", "b.tar")

    def test_converting_records_that_are_not_examples_is_rejected(self):
        write_records("a", [b"\xff\xff"])
        assert "example 0 is not an Example" in refused("a", "b.csv")

    def test_existing_file_is_replaced_only_with_overwrite(self):
        write_numbers("a", 3)
        Path("b.tfrecord").write_text("precious")
        assert "b.tfrecord already exists" in refused("a", "b.tfrecord")
        assert Path("b.tfrecord").read_text() == "precious"
        converted("a", "b.tfrecord", "--overwrite")
        assert numbers_of("b.tfrecord") == [0, 1, 2]
        Path("c").mkdir()
        write_records("d", [example(image=image(), label=1)])
        assert "c already exists. Remove it" in refused("d", "c/", "--overwrite")

    def test_overwriting_shards_removes_old_shards_of_a_different_count(self):
        write_numbers("a", 6)
        converted("a", "b.tfrecord", "--shards", 3)
        assert "already exists" in refused("a", "b.tfrecord", "--shards", 2)
        converted("a", "b.tfrecord", "--shards", 2, "--overwrite")
        assert len(list(Path().glob("b-*"))) == 2

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["a", "b"], "b: the format is not clear from the name"),
            (
                ["a", "b.csv", "--compression", "zlib"],
                "does not work for csv, expected one of gzip, none",
            ),
            (["a", "b.csv", "--shards", "2", "--shard-bytes", "1M"], "cannot be used together"),
            (["a", "b.csv", "--window", "2"], "--window works only with --shuffle"),
            (["a", "b/", "--shards", "2"], "an image folder has no shards"),
            (["a", "b.csv", "--key", "x"], "--key works only with --to tar"),
            (["a", "b.csv", "--cast", "x=str"], "--cast works only with --to tfrecord"),
            (["a", "b.tfrecord", "--cast", "x=int"], "--cast x=int: expected float32 or str"),
            (["a", "b.csv", "--shard-bytes", "many"], "'many' is not a valid size"),
            (["a", "b.csv", "--rename", "x"], "'x' is not a pair"),
            (["a", "b.csv", "--skip-errors", "1.5"], "neither a number nor a fraction"),
            (["a", "s3://bucket/b/"], "an image folder must have a local path"),
            (["a"], "Missing argument"),
        ],
    )
    def test_wrong_usage_exits_with_2(self, arguments, expected):
        write_numbers("a", 2)
        done = call("convert", *arguments)
        assert done.exit_code == 2
        assert expected in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["nowhere", "b.csv"], "nowhere: no such file"),
            (["a", "b.csv", "--select", "x"], "--select x: no such feature"),
            (["a", "b.csv", "--rename", "x=y"], "--rename x=y: no such feature"),
            (["a", "b.csv", "--column", "n=int"], "--column does not work with tfrecord"),
            (["a", "b.csv", "--default", "n=1"], "--default works only with csv, json-lines"),
            (["t.csv", "b.tfrecord", "--column", "n=complex"], "n=complex: no such type"),
            (["a", "b.tfrecord", "--cast", "n=str"], "--cast does not work with TFRecords"),
            (["t.csv", "b.tfrecord", "--cast", "x=str"], "no such feature, expected one of n, m"),
            (["t.txt", "b.tfrecord", "--cast", "text=str"], "(bytes, ()), but only numbers"),
            (["t.csv", "b.tfrecord", "--default", "n=x"], "n=x: the column contains numbers"),
            (["t.csv", "b.tfrecord", "--select", "x"], "no such column, expected one of n, m"),
            (["t.csv", "b.jsonl"], "one of the two must be TFRecords"),
            (["a", "t.csv", "b.tfrecord"], "a is tfrecord, but t.csv is csv"),
            (["empty", "b.tfrecord"], "empty: files of the kind 'empty' cannot be converted"),
        ],
    )  # fmt: skip
    def test_invalid_conversion_exits_with_1(self, arguments, expected):
        write_numbers("a", 2)
        Path("t.csv").write_text("n,m\n1,2\n")
        Path("t.txt").write_text("one\n")
        Path("empty").touch()
        message = refused(*arguments)
        assert expected in message
        assert message.count("\n") == 1

    def test_suggested_remedy_for_a_missing_value_is_an_option_of_the_command(self):
        Path("gaps.jsonl").write_text('{"a": 1}\n{"b": 2}\n')
        done = call("convert", "gaps.jsonl", "b.tfrecord")
        assert done.exit_code == 1
        assert done.stderr.endswith("Set a default with --default 'b=VALUE'.\n")
        done = call("convert", "gaps.jsonl", "b.tfrecord", "--default", "a=0", "--default", "b=0")
        assert done.exit_code == 0

    def test_damaged_records_are_skipped_if_requested(self):
        write_numbers("a", 5)
        data = bytearray(Path("a").read_bytes())
        data[len(data) // 2] ^= 1
        Path("a").write_bytes(data)
        assert "corrupted record" in refused("a", "b.tfrecord")
        done = call("convert", "a", "b.tfrecord", "--skip-errors", 1)
        assert done.exit_code == 0
        assert "1 example skipped" in done.stderr
        assert len(numbers_of("b.tfrecord")) < 5

    def test_json_output_lists_the_written_files(self):
        write_numbers("a", 4)
        document = json.loads(converted("a", "b.tfrecord", "--shards", 2, "--json"))
        assert document == {
            "files": ["b-00000-of-00002.tfrecord", "b-00001-of-00002.tfrecord"],
            "examples": 4,
            "parts_of_earlier_run": 0,
            "skipped": [],
        }


def test_messages_and_journal_hide_secrets_in_urls():
    write_numbers("x.tfrecord", 3)
    url = "http://user:sesame@127.0.0.1:9/out.jsonl?X-Amz-Signature=sesame"
    failed = call("convert", "x.tfrecord", url, "--to", "json-lines")
    assert failed.exit_code
    assert "127.0.0.1" in failed.stderr
    assert "sesame" not in failed.stderr
    kept = [path.read_text("utf-8") for path in Path().rglob("*.json*") if path.is_file()]
    assert not any("sesame" in text for text in kept)
    failed = call("convert", "x.tfrecord", "http://user:sesame@127.0.0.1:9/out.unknown")
    assert (failed.exit_code, "sesame" in failed.stderr) == (2, False)
