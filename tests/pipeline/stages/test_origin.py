"""The origin of examples, as components."""

import numpy as np
import pytest

from headrace import pipeline as hp


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "a").write_text("0\n1\n2\n")
    (tmp_path / "b").write_text("0\n1\n")
    return tmp_path


def test_origins_contain_file_and_record_number(lines, items_of):
    pipeline = hp.text_lines(lines).with_origin()
    names = [str(lines / name) for name in "aaabb"]
    result = items_of(pipeline)
    assert [row["file"] for row in result] == names
    assert [int(row["record_number"]) for row in result] == [0, 1, 2, 0, 1]
    assert result[0]["record_number"].dtype == np.int64
    [batch] = items_of(pipeline.shuffle(seed=3).batch(5))
    assert (batch["text"].astype(np.int64) == batch["record_number"]).all()
    assert sorted(batch["file"]) == names
    assert pipeline.spec["file"] == hp.Spec(str, ())
    assert pipeline.spec["record_number"] == hp.Spec(np.dtype(np.int64), ())


def test_files_are_named_as_passed(lines, monkeypatch):
    monkeypatch.chdir(lines)
    assert [row["file"] for row in hp.text_lines("a").with_origin()] == ["a"] * 3


def test_with_origin_must_follow_a_source(lines):
    for pipeline in (
        hp.text_lines(lines).take(3),
        hp.arrays({"x": [1]}),
        hp.concat([hp.text_lines(lines)]),
    ):
        with pytest.raises(ValueError, match="must come directly after a source of files"):
            pipeline.with_origin()
