"""Strings in batches as Arrow arrays, if pyarrow is installed."""

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.pipeline.values import string_arrays
from headrace.protos import Example

pa = pytest.importorskip("pyarrow")

TEXTS = ["", "é", "abc", "", "x" * 300]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return hp.text_lines(path)


def test_lines_become_binary_arrays(lines):
    batches = [batch["text"] for batch in lines.batch(3).options(strings="arrow")]
    assert [batch.type for batch in batches] == [pa.large_binary()] * 2
    assert [batch.to_pylist() for batch in batches] == [
        [text.encode() for text in TEXTS[:3]],
        [text.encode() for text in TEXTS[3:]],
    ]


def test_shuffle_window_does_not_change_arrow_strings(lines):
    shuffled = lines.shuffle(window=4, seed=1).epochs(3).batch(4)
    arrows = [batch["text"].to_pylist() for batch in shuffled.options(strings="arrow")]
    assert arrows == [batch["text"].tolist() for batch in shuffled]


def test_text_becomes_string_arrays_and_numbers_remain_numpy(tmp_path):
    path = tmp_path / "things.csv"
    path.write_text("name,n\né,1\nb,2\n", encoding="utf-8")
    pipeline = hp.csv(path, {"name": str, "n": int}).batch(2).options(strings="arrow")
    [batch] = pipeline
    assert batch["name"].type == pa.large_string()
    assert batch["name"].to_pylist() == ["é", "b"]
    assert isinstance(batch["n"], np.ndarray)


def test_strings_returned_by_functions_become_arrow_arrays(lines):
    upper = lines.map(lambda example: {"text": example["text"].upper()}).batch(5)
    [batch] = upper.options(strings="arrow")
    assert batch["text"].to_pylist() == [text.encode().upper() for text in TEXTS]


def test_invalid_utf_8_text_is_an_error(tmp_path):
    with TFRecordWriter(tmp_path / "a") as writer:
        for name in ("é".encode(), b"\xff"):
            example = Example()
            example.features.feature["name"].bytes_list.value.append(name)
            writer.write(example.SerializeToString())
    rows = hp.tfrecords(tmp_path / "a").parse({"name": str})
    with pytest.raises(errors.InvalidArgumentError, match=r"record 1: 'name' .* not UTF-8 at byte"):
        list(rows.batch(2).options(strings="arrow"))


def test_unbatched_and_multidimensional_strings_are_unchanged(lines):
    assert [example["text"] for example in lines.take(3).options(strings="arrow")][2] == b"abc"
    pairs = hp.arrays({"pair": np.array([[b"a", b"b"], [b"c", b""]], object)})
    [batch] = pairs.batch(2).options(strings="arrow")
    assert batch["pair"].tolist() == [[b"a", b"b"], [b"c", b""]]


def test_last_strings_option_wins_and_unknown_ones_are_rejected(lines, monkeypatch):
    again = lines.batch(5).options(strings="arrow").options(strings="numpy")
    assert next(iter(again))["text"].dtype == object
    with pytest.raises(ValueError, match="strings is 'list', expected 'numpy' or 'arrow'"):
        lines.options(strings="list")
    monkeypatch.setattr(string_arrays, "missing_arrow", lambda: "got no pyarrow")
    with pytest.raises(ModuleNotFoundError, match="options: got no pyarrow"):
        lines.options(strings="arrow")
