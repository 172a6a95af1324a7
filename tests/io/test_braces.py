"""Braces in paths, as in WebDataset and in shells."""

import pytest

import headrace as hr
from headrace.core import errors
from headrace.io.braces import expanded


@pytest.mark.parametrize(
    ("path", "paths"),
    [
        ("{8..11}", ["8", "9", "10", "11"]),
        ("a-{008..011}.tar", ["a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"]),
        ("{2..0}", ["2", "1", "0"]),
        ("{0..10..5}", ["0", "5", "10"]),
        ("{10..0..5}", ["10", "5", "0"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{c..e}", ["c", "d", "e"]),
        ("{a,b}/{0..1}", ["a/0", "a/1", "b/0", "b/1"]),
        ("{train,val-{00..01}}", ["train", "val-00", "val-01"]),
        ("x{,.gz}", ["x", "x.gz"]),
        ("{a}{b,c}", ["{a}b", "{a}c"]),
        ("{}", ["{}"]),
        ("{1..}", ["{1..}"]),
        ("{a,b", ["{a,b"]),
        ("{{a,b}}", ["{a}", "{b}"]),
        ("plain", ["plain"]),
    ],
)
def test_braces_expand_as_in_a_shell(path, paths):
    assert expanded(path) == paths


@pytest.mark.parametrize("path", ["{0..99999999999}", "{0..999}{0..999}{0..9}"])
def test_more_than_a_million_paths_are_rejected(path):
    with pytest.raises(ValueError, match=r"text_lines: .* more than 1,000,000 paths"):
        list(hr.text_lines(path))


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """Three files with one line each."""
    for number in range(3):
        (tmp_path / f"s-{number:03}.txt").write_text(f"{number}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(paths):
    return [row["text"] for row in hr.text_lines(paths)]


def test_source_reads_brace_expanded_files(shards):
    assert texts("s-{000..002}.txt") == [b"0", b"1", b"2"]
    assert texts("s-{002,000}.txt") == [b"2", b"0"]
    assert texts(f"file://{shards}/s-{{000..001}}.txt") == [b"0", b"1"]
    assert texts("{s,s}-00[12].txt") == [b"1", b"2", b"1", b"2"]


def test_existing_path_with_braces_is_taken_literally(shards):
    (shards / "s-{000..002}.txt").write_text("mine\n")
    assert texts("s-{000..002}.txt") == [b"mine"]


def test_error_names_the_missing_file(shards):
    with pytest.raises(errors.NotFoundError, match=r"text_lines: s-003.txt: no such file"):
        texts("s-{000..003}.txt")
    with pytest.raises(
        errors.NotFoundError, match=r"s-\{\}.txt: .* the braces are not a valid pattern"
    ):
        texts("s-{}.txt")
