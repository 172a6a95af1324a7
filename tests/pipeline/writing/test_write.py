"""Examples that are written and read again, and values that a format cannot hold."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.conftest import same
from tests.pipeline.writing.killed_write import numbers

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.write import _Shards

needs_parquet = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
FORMATS = ["tfrecord", "tfrecord.gz", "jsonl", "jsonl.gz", "tar", "tar.gz"]
FORMATS += ["parquet"] if find_spec("pyarrow") else []


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examples() -> hr.Pipeline:
    """The components that each format supports."""
    return hr.arrays(
        {
            "n": np.arange(-3, 4),
            "small": np.arange(7, dtype=np.uint8),
            "x": np.float32([0.1, -0.0, 1e-30, 3.4e38, 1 / 3, 7, 1e20]),
            "is_odd": np.arange(7) % 2 == 1,
            "text": [f"ä\n{n}" for n in range(7)],
            "row": np.arange(21).reshape(7, 3),
        }
    )


def contents(pattern: str = "out*") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path().glob(pattern))}


def written(pipe: hr.Pipeline, ending: str, **options: int) -> str:
    paths = pipe.write(f"out-{{shard}}.{ending}", **options)
    assert paths == sorted(contents())
    return f"out-*.{ending}"


class TestRoundTrips:
    def test_tfrecords_of_examples_round_trip(self):
        pattern = written(examples(), "tfrecord", num_shards=3)
        types = {"n": int, "small": int, "x": float, "is_odd": int, "text": str}
        read = hr.tfrecords(pattern).parse({**types, "row": hr.Feature(int, (3,))})
        for row, expected in zip(read, examples(), strict=True):
            assert row["row"].tolist() == expected["row"].tolist()
            assert {name: row[name] for name in types} == {name: expected[name] for name in types}

    def test_multidimensional_arrays_in_tfrecords_round_trip(self):
        images = np.arange(48, dtype=np.uint8).reshape(4, 2, 2, 3)
        pattern = written(hr.arrays({"image": images}), "tfrecord")
        read = hr.tfrecords(pattern).parse({"image": hr.Feature(int, (2, 2, 3))})
        assert [example["image"].tolist() for example in read] == images.tolist()

    def test_lists_of_any_length_in_tfrecords_round_trip(self):
        lists = hr.indexed([{"ids": list(range(n))} for n in range(5)])
        read = hr.tfrecords(written(lists, "tfrecord")).parse({"ids": hr.Ragged(int)})
        assert [example["ids"].tolist() for example in read] == [list(range(n)) for n in range(5)]

    def test_raw_records_are_written_unchanged(self):
        with TFRecordWriter("records") as writer:
            for number in range(10):
                writer.write(b"not an Example %d" % number)
        pattern = written(hr.tfrecords("records").shuffle(seed=1), "tfrecord", num_shards=2)
        assert list(hr.tfrecords(pattern)) == list(hr.tfrecords("records").shuffle(seed=1))

    @pytest.mark.parametrize("ending", ["jsonl", "ndjson", "jsonl.gz"])
    def test_json_lines_round_trip(self, ending):
        pattern = written(examples(), ending, num_shards=2)
        types = {"n": int, "small": np.uint8, "x": float, "is_odd": bool, "text": str}
        read = hr.json_lines(pattern, {**types, "row": hr.Feature(int, (3,))})
        assert same(list(read), list(examples()))

    def test_matrices_in_json_lines_round_trip(self):
        pattern = written(hr.arrays({"m": np.eye(2)[None]}), "jsonl")
        assert json.loads(Path(pattern.replace("*", "0")).read_text()) == {"m": [[1, 0], [0, 1]]}

    @needs_parquet
    def test_parquet_round_trips(self):
        pattern = written(examples(), "parquet", num_shards=2)
        assert same(list(hr.parquet(pattern)), list(examples()))

    @needs_parquet
    def test_all_numeric_types_in_parquet_round_trip(self):
        kinds = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
        kinds += ["float32", "float64", "bool"]
        pipe = hr.arrays({kind: np.arange(2).astype(kind) for kind in kinds})
        assert same(list(hr.parquet(written(pipe, "parquet"))), list(pipe))

    @needs_parquet
    def test_bytes_in_parquet_round_trip(self):
        pipe = hr.arrays({"data": np.array([b"\xff\x00", b""], object)})
        assert list(hr.parquet(written(pipe, "parquet"))) == list(pipe)

    def test_archive_samples_round_trip(self):
        pipe = hr.arrays(
            {
                "__key__": ["a/one", "a/two"],
                "jpg": np.array([b"\xff\xd8", b""], object),
                "txt": ["ä", "b"],
                "cls": np.arange(2),
            }
        )
        assert list(hr.webdataset(written(pipe, "tar"))) == [
            {"__key__": "a/one", "jpg": b"\xff\xd8", "txt": "ä".encode(), "cls": b"0"},
            {"__key__": "a/two", "jpg": b"", "txt": b"b", "cls": b"1"},
        ]

    def test_arrays_in_archives_round_trip(self):
        pipe = hr.arrays({"image.npy": np.arange(8.0).reshape(2, 2, 2), "row": np.eye(2)})
        read = list(hr.webdataset(written(pipe, "tar")))
        assert [example["__key__"][-9:] for example in read] == ["000000000", "000000001"]
        assert np.load(io.BytesIO(read[1]["image.npy"])).tolist() == [[4, 5], [6, 7]]
        assert [json.loads(example["row"]) for example in read] == [[1, 0], [0, 1]]


class TestShards:
    @pytest.mark.parametrize("ending", FORMATS)
    def test_same_pipeline_writes_the_same_files(self, ending):
        pipe = numbers()
        written(pipe, ending, num_shards=3)
        first = contents()
        for path in Path().iterdir():
            path.unlink()
        written(pipe.options(num_threads=3), ending, num_shards=3)
        assert contents() == first

    def test_shards_contain_consecutive_examples(self):
        hr.arrays(np.arange(10)).write("out-{shard:03}-of-{num_shards}.jsonl", num_shards=3)
        lines = {name: len(data.splitlines()) for name, data in contents().items()}
        assert lines == {"out-000-of-3.jsonl": 3, "out-001-of-3.jsonl": 3, "out-002-of-3.jsonl": 4}
        assert [example["x"] for example in hr.json_lines("out*")] == list(range(10))

    def test_unknown_number_of_examples_is_counted_first(self):
        pattern = written(numbers(), "jsonl", num_shards=4)
        assert len(list(hr.json_lines(pattern))) == 103

    def test_missing_directories_are_created(self):
        assert hr.arrays([1]).write(Path("a") / "b" / "c.jsonl") == ["a/b/c.jsonl"]
        assert Path("a/b/c.jsonl").read_bytes() == b'{"x":1}\n'

    def test_valid_utf_8_bytes_become_text_in_json_lines(self):
        Path("lines.txt").write_text("héllo\nworld\n", "utf-8")
        (path,) = hr.text_lines("lines.txt").write("out.jsonl")
        assert Path(path).read_text("utf-8") == '{"text":"héllo"}\n{"text":"world"}\n'

    def test_skipped_examples_are_in_no_shard(self):
        pipe = hr.arrays([1, 0, 2]).map(_inverse).skip_errors(1)
        paths = pipe.write("out-{shard}.jsonl", num_shards=2)
        assert [Path(path).read_text() for path in paths] == ['{"x":1.0}\n', '{"x":0.5}\n']

    def test_no_progress_bar_without_a_terminal(self, capfd):
        hr.arrays([1, 2]).write("a.jsonl")
        assert capfd.readouterr() == ("", "")


def _inverse(example):
    return {"x": 1 / int(example["x"])}


class TestRefusals:
    @pytest.mark.parametrize(
        ("array", "ending", "words"),
        [
            (np.zeros(2), "tfrecord", "'c' is .*float64.*, but an Example stores only int64"),
            (np.zeros(2, np.uint64), "tfrecord", "np.int64 in a map"),
            (np.zeros(2, complex), "tfrecord", "'c' is .*complex128"),
            (np.zeros(2, complex), "jsonl", "which JSON does not support"),
            (np.zeros((2, 2, 2)), "tar", r"Rename it to 'c\.npy' with rename"),
            (np.zeros(2, complex), "tar", "which a text file in an archive does not support"),
        ],
    )
    def test_error_names_the_component_a_format_cannot_store(self, array, ending, words):
        with pytest.raises(ValueError, match=f"write: .*{words}"):
            hr.arrays({"c": array}).write(f"out.{ending}")
        assert list(Path().iterdir()) == []

    def test_non_text_bytes_are_rejected_in_json_lines(self):
        pipe = hr.arrays({"c": np.array([b"a", b"\xff"], object)})
        with pytest.raises(
            ValueError, match="example 1: component 'c' contains bytes that are not"
        ):
            pipe.write("out.jsonl")
        assert list(Path().iterdir()) == []

    @needs_parquet
    def test_too_many_axes_for_parquet_are_rejected(self):
        with pytest.raises(ValueError, match=r"'c' is .*, but the format supports at most 3 axes"):
            hr.arrays({"c": np.zeros((2, 1, 1, 1, 1))}).write("out.parquet")

    def test_invalid_member_names_are_rejected(self):
        with pytest.raises(
            ValueError, match="component 'Image' cannot be used as a file extension"
        ):
            hr.arrays({"Image": [1]}).write("out.tar")

    def test_two_samples_with_the_same_key_are_rejected(self):
        with pytest.raises(
            ValueError, match="example 1 has the same key as the one before it, 'a'"
        ):
            hr.arrays({"__key__": ["a", "a"], "n": [1, 2]}).write("out.tar")
        assert list(Path().iterdir()) == []

    def test_varying_shapes_are_rejected_by_formats_that_cannot_store_them(self):
        pipe = hr.indexed([np.zeros((2, 3), np.int64), np.zeros((3, 2), np.int64)])
        with pytest.raises(ValueError, match=r"component 'x' of example 1 has shape \(3, 2\)"):
            pipe.write("out.tfrecord")

    def test_nan_and_infinity_in_json_are_rejected(self):
        with pytest.raises(ValueError, match="example 1 has an infinite"):
            hr.arrays([1.0, np.inf]).write("out.jsonl")

    @pytest.mark.parametrize(
        ("pipe", "words"),
        [
            (lambda: hr.arrays([1, 2]).batch(2), "the pipeline yields batches"),
            (lambda: hr.arrays([1, 2]).epochs(), "the pipeline is endless"),
            (lambda: hr.arrays([1]).options(deterministic=False), "but its order must be fixed"),
            (lambda: hr.arrays([1, 2]).filter(lambda example: False), "there are no examples"),
        ],
    )
    def test_pipelines_without_a_fixed_list_of_examples_are_rejected(self, pipe, words):
        with pytest.raises(ValueError, match=f"write: .*{words}"):
            pipe().write("out.jsonl")
        assert contents() == {}

    @pytest.mark.parametrize(
        ("path", "num_shards", "words"),
        [
            ("out.txt", 1, r"its extension must name the format: \.tfrecord"),
            ("out", 1, "its extension must name the format"),
            ("out.parquet.gz", 1, "its extension must name the format"),
            ("out.jsonl", 2, r"Use \{shard\} in the path"),
            ("out-{number}.jsonl", 2, "expected only the placeholders"),
            ("out-{shard.jsonl", 2, "expected only the placeholders"),
            ("out-{shard}.jsonl", 0, "num_shards is 0"),
            ("out-{shard}.jsonl", 9, "3 examples for 9 shards"),
        ],
    )
    def test_invalid_arguments_are_rejected(self, path, num_shards, words):
        with pytest.raises(ValueError, match=f"write: .*{words}"):
            hr.arrays([1, 2, 3]).write(path, num_shards)

    @pytest.mark.parametrize("resume", [False, True])
    def test_existing_files_are_not_replaced(self, resume):
        Path("out-1.jsonl").write_text("mine")
        with pytest.raises(errors.AlreadyExistsError, match=r"out-1\.jsonl already exists"):
            hr.arrays([1, 2, 3]).write("out-{shard}.jsonl", 3, resume)
        assert contents("*") == {"out-1.jsonl": b"mine"}


class TestResume:
    PATH = "out-{shard}.tfrecord"

    def killed(self, moment: str, number: int, path: str = PATH) -> None:
        program = Path(__file__).with_name("killed_write.py")
        done = subprocess.run(
            [sys.executable, program, moment, str(number), path],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
            timeout=50,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL

    @pytest.fixture
    def whole(self, here):
        numbers().write(self.PATH, 4)
        files = contents()
        for path in Path().iterdir():
            path.unlink()
        return files

    @pytest.mark.parametrize(
        ("moment", "number"),
        [
            *[("example", 1), ("example", 26), ("example", 60), ("example", 103)],
            *[("publish", 1), ("publish", 4), ("journal", 1), ("journal", 4), ("begin", 1)],
        ],
    )
    def test_killed_run_leaves_complete_shards_and_can_resume(self, whole, moment, number):
        self.killed(moment, number)
        named = contents()
        assert named.items() <= whole.items()
        times = {name: os.stat(name).st_mtime_ns for name in named}
        noted = len(Path(f".{self.PATH}.headrace-write").read_bytes().splitlines()) - 1
        numbers().write(self.PATH, 4, resume=True)
        assert contents() == whole
        for name in sorted(named)[:noted]:
            assert os.stat(name).st_mtime_ns == times[name]
        assert not [path for path in Path().iterdir() if ".tmp" in path.name]

    @pytest.mark.parametrize("ending", ["jsonl.gz", "tar"])
    def test_runs_of_all_formats_can_resume(self, ending):
        path = f"out-{{shard}}.{ending}"
        numbers().write(path, 4)
        whole = contents()
        for one in Path().iterdir():
            one.unlink()
        self.killed("file", 3, path)
        numbers().write(path, 4, resume=True)
        assert contents() == whole

    def test_run_can_be_killed_repeatedly(self, whole):
        for _ in range(3):
            self.killed("journal", 2)
        numbers().write(self.PATH, 4, resume=True)
        assert contents() == whole

    def test_complete_shards_are_not_written_again(self, whole):
        for _ in range(2):
            paths = numbers().write(self.PATH, 4, resume=True)
            assert paths == [f"out-{shard}.tfrecord" for shard in range(4)]
            times = [os.stat(path).st_mtime_ns for path in paths]
        assert [os.stat(path).st_mtime_ns for path in paths] == times
        assert contents() == whole

    def test_resume_must_be_requested(self, whole):
        self.killed("journal", 3)
        with pytest.raises(errors.AlreadyExistsError, match="resume=True to continue"):
            numbers().write(self.PATH, 4)

    def test_different_pipeline_is_rejected(self, whole):
        self.killed("journal", 3)
        with pytest.raises(
            ValueError, match="write: resume: the seed of shuffle is 6, but it was 5"
        ):
            numbers(6).write(self.PATH, 4, resume=True)
        with pytest.raises(ValueError, match=r"write: resume: .*arrays"):
            numbers(5, 121).write(self.PATH, 4, resume=True)
        with pytest.raises(
            ValueError, match=r"num_shards is 3, but the run that started .* used 4"
        ):
            numbers().write(self.PATH, 3, resume=True)

    def test_omitted_seed_is_reused_from_the_earlier_run(self, whole):
        _end_half_way(hr.arrays(np.arange(100)).shuffle(), "drawn-{shard}.jsonl", 4)
        assert sorted(contents("drawn*")) == ["drawn-0.jsonl", "drawn-1.jsonl"]
        hr.arrays(np.arange(100)).shuffle().write("drawn-{shard}.jsonl", 4, resume=True)
        values = [int(example["x"]) for example in hr.json_lines("drawn-*")]
        assert sorted(values) == list(range(100))

    def test_modified_shard_is_rejected(self, whole):
        self.killed("journal", 3)
        os.truncate("out-0.tfrecord", 10)
        with pytest.raises(
            errors.FailedPreconditionError, match=r"out-0\.tfrecord: the earlier run"
        ):
            numbers().write(self.PATH, 4, resume=True)


def _end_half_way(pipe: hr.Pipeline, path: str, num_shards: int) -> None:
    """Writes half of the shards, and then raises an error."""
    begin = _Shards.begin

    def limited(shards: _Shards, number: int) -> tuple[str, Shard]:
        if number == num_shards // 2:
            raise KeyError("ended")
        return begin(shards, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Shards, "begin", limited)
        with pytest.raises(KeyError):
            pipe.write(path, num_shards)


def test_gzip_files_have_no_timestamp():
    hr.arrays([1]).write("out.jsonl.gz")
    assert gzip.decompress(Path("out.jsonl.gz").read_bytes()) == b'{"x":1}\n'
    assert re.match(rb"\x1f\x8b\x08\x00\x00\x00\x00\x00", Path("out.jsonl.gz").read_bytes())
