"""Strings that should be text but are not UTF-8: an error with file and record, or skipped."""

import json
import os
import sys
import tarfile

import pytest
from tests.archives import add_members
from tests.pipeline.conftest import WAYS

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.protos import Example
from headrace.testing import assert_resumes

needs_bytes_in_names = pytest.mark.skipif(
    sys.platform == "darwin", reason="the file system takes UTF-8 alone"
)


def run(pipeline, name):
    """Returns all strings of a component and the skipped examples, equal for all ways to run it."""
    first, *others = (once(pipeline.options(**way), name) for way in WAYS)
    assert all(other == first for other in others)
    return first


def once(pipeline, name):
    with iter(pipeline) as batches:
        texts = [example[name] for example in batches]
        return texts, [(s.record_number, s.stage, s.reason) for s in batches.skipped]


@pytest.fixture
def records(tmp_path):
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for number in range(10):
            example = Example()
            text = b"\xff\xfe" if number == 3 else b"%d" % number
            example.features.feature["text"].bytes_list.value.append(text)
            example.features.feature["list"].bytes_list.value.extend([b"x", text])
            writer.write(example.SerializeToString())
    return tmp_path / "a.tfrecord"


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_invalid_text_in_a_feature_is_an_error(records, is_shuffled):
    source = hr.tfrecords(records)
    source = source.shuffle(seed=3) if is_shuffled else source
    pipeline = source.parse({"text": str})
    message = (
        r"a.tfrecord: record 3: 'text' is '\ufffd\ufffd', which is not UTF-8 at byte 0, expected "
        r"str\. Correct the record, or read the feature as bytes\."
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(pipeline)
    texts, [skipped] = run(pipeline.skip_errors(1), "text")
    assert sorted(texts) == [str(number) for number in range(10) if number != 3]
    assert skipped[:2] == (3, "parse")
    assert len(list(source.parse({"text": bytes}))) == 10


@pytest.mark.parametrize("features", [{"list": hr.Ragged(str)}, {"list": hr.Feature(str, (2,))}])
def test_invalid_text_in_a_list_is_an_error(records, features):
    pipeline = hr.tfrecords(records).parse(features)
    with pytest.raises(errors.InvalidArgumentError, match="record 3: 'list' is"):
        list(pipeline)
    assert len(list(pipeline.skip_errors(1))) == 9
    assert_resumes(pipeline.skip_errors(1))


@needs_bytes_in_names
def test_non_utf_8_file_names_are_an_error(tmp_path):
    directory = os.fsencode(tmp_path)
    for name in (b"a.txt", b"b\xff.txt", b"c.txt"):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(b"x\n")
    pipeline = hr.files(tmp_path)
    message = (
        r"b\\xff.txt: record 0: 'path' is '.*b\ufffd.txt', which is not UTF-8 at byte \d+.*Rename"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(pipeline)
    texts, [skipped] = run(pipeline.skip_errors(1), "path")
    assert texts == [str(tmp_path / "a.txt"), str(tmp_path / "c.txt")]
    assert skipped[1] == "files"
    assert len(run(pipeline.shuffle(seed=1).skip_errors(1), "path")[0]) == 2
    # A program that does not use the name may have any.
    assert len(list(hr.text_lines(tmp_path))) == 3
    lines = hr.text_lines(tmp_path).with_origin()
    with pytest.raises(
        errors.InvalidArgumentError, match="with_origin: the file name is not UTF-8"
    ):
        list(lines)
    texts, [skipped] = run(lines.skip_errors(1), "file")
    assert len(texts) == 2
    assert skipped[:2] == (0, "with_origin")


@needs_bytes_in_names
def test_non_utf_8_image_names_are_an_error(tmp_path):
    (tmp_path / "cat").mkdir()
    for name in (b"a.png", b"b\xff.png"):
        with open(os.path.join(os.fsencode(tmp_path), b"cat", name), "wb") as file:
            file.write(b"x")
    pipeline = hr.image_folder(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match=r"b\\xff.png.*'path' is .*not UTF-8"):
        list(pipeline)
    texts, [skipped] = run(pipeline.skip_errors(1), "path")
    assert texts == [str(tmp_path / "cat" / "a.png")]
    assert skipped[1] == "image_folder"


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_non_utf_8_archive_keys_are_an_error(tmp_path, is_shuffled):
    with tarfile.open(
        tmp_path / "a.tar", "w", encoding="latin-1", format=tarfile.GNU_FORMAT
    ) as output:
        add_members(output, [("a.x", b"1"), ("\xff.x", b"2"), ("c.x", b"3")])
    pipeline = hr.webdataset(tmp_path / "a.tar")
    pipeline = pipeline.shuffle(seed=3) if is_shuffled else pipeline
    with pytest.raises(
        errors.InvalidArgumentError, match=r"sample 1: '__key__' is '\ufffd', which is"
    ):
        list(pipeline)
    texts, [skipped] = run(pipeline.skip_errors(1), "__key__")
    assert sorted(texts) == ["a", "c"]
    assert skipped[:2] == (1, "webdataset")


def test_invalid_text_in_csv_and_json_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"t\na\n\xff\nc\n")
    lines = [json.dumps({"t": text}).encode() for text in "abc"]
    lines[1] = b'{"t": "\xff"}'
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    for pipeline, line in (
        (hr.csv(tmp_path / "a.csv", {"t": str}), 3),
        (hr.json_lines(tmp_path / "a.jsonl", {"t": str}), 2),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=f"line {line}: "):
            list(pipeline)
        texts, [skipped] = run(pipeline.skip_errors(1), "t")
        assert texts == ["a", "c"]
        assert skipped[0] == line - 1
