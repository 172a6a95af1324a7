"""A file is replaced completely or not at all, and keeps its mode."""

import os

import pytest

from headrace.io.atomic_file import replacing


def test_file_is_unchanged_if_the_body_fails(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")

    def fail():
        with replacing(path) as file:
            assert file.write(b"new") == file.tell() == 3
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"
