"""The files that match paths, which are the same for all sources."""

import pytest

from headrace import pipeline as hp
from headrace.core import errors

SOURCES = {
    "text_lines": (hp.text_lines, lambda row: row["text"]),
    "fixed_length_records": (
        lambda paths: hp.fixed_length_records(paths, 2),
        lambda row: row["record"],
    ),
    "files": (hp.files, lambda row: row["data"]),
    "csv": (lambda paths: hp.csv(paths, {"x": bytes}, header=False), lambda row: row["x"]),
}


@pytest.fixture(params=SOURCES)
def read(request):
    """Returns the contents that a source reads from paths."""
    make, value = SOURCES[request.param]
    return lambda paths: [value(row) for row in make(paths)]


@pytest.fixture
def directory(tmp_path):
    """Files, hidden ones, a directory below with another, and a link to that."""
    for name in ("b", "a", ".hidden", "c/d", ".e/f"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name[-1].encode() * 2)
    (tmp_path / "link").symlink_to(tmp_path / "c" / "d")
    return tmp_path


def test_directory_expands_to_its_sorted_visible_files(directory, read):
    assert read(directory) == [b"aa", b"bb", b"dd"]
    assert read(str(directory) + "/") == [b"aa", b"bb", b"dd"]


def test_pattern_expands_to_sorted_files(directory, read):
    assert read(directory / "[ab]") == [b"aa", b"bb"]
    assert read(f"{directory}/**/d") == [b"dd"]
    assert read(f"{directory}/**") == [b"aa", b"bb", b"dd"]


def test_list_of_paths_keeps_its_order(directory, read):
    assert read([directory / "b", str(directory / "a"), directory / "c"]) == [b"bb", b"aa", b"dd"]


def test_long_list_of_paths_is_read_like_a_short_one(directory, read, monkeypatch):
    names = [f"{number:02}" for number in range(40)]
    for name in names:
        (directory / name).write_bytes(name.encode())
    paths = [*(directory / name for name in names[::-1]), directory / "link", directory / "c"]
    contents = [*(name.encode() for name in names[::-1]), b"dd", b"dd"]
    assert read([*paths, directory / "07"]) == [*contents, b"07"]
    monkeypatch.chdir(directory)
    assert read([*names, "c", ".hidden"]) == [*map(str.encode, names), b"dd", b"nn"]
    with pytest.raises(errors.NotFoundError, match=r"gone: no such file"):
        read([*names, "gone"])


def test_relative_paths_and_hidden_files_can_be_named(directory, read, monkeypatch):
    monkeypatch.chdir(directory)
    assert read(["a", ".hidden", "c/*"]) == [b"aa", b"nn", b"dd"]


def test_empty_directory_is_an_error(tmp_path, read):
    with pytest.raises(errors.NotFoundError, match="there are no files in this directory"):
        read(tmp_path)
