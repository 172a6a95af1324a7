"""A pipeline at the end of a notebook cell appears as a table of its stages."""

import numpy as np
import pytest
from tests.markup import HOSTILE, Elements

import headrace as hr


def cells(pipe):
    return Elements(pipe._repr_html_()).texts


def test_table_has_stages_components_lengths_and_sizes():
    pipe = hr.arrays({"image": np.zeros((10, 8, 8, 3), np.uint8), "label": range(10)})
    texts = cells(pipe.shuffle(seed=1).batch(4))
    assert "shuffle(None, 1)" in texts
    assert "10 examples" in texts
    assert "3 batches" in texts
    assert "uint8, (None, 8, 8, 3)" in texts
    assert "200 bytes" in texts


def test_python_functions_are_not_called():
    def fail(example):
        raise AssertionError("it was called")

    texts = cells(hr.arrays({"x": [1, 2]}).map(fail))
    assert "known after the first example" in texts


def test_components_are_known_after_an_iteration():
    pipe = hr.arrays({"x": [1, 2]}).map(lambda e: {"y": np.float32(e["x"])})
    list(pipe)
    assert "float32, ()" in cells(pipe)


def test_files_are_counted(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n")
    texts = cells(hr.text_lines(str(tmp_path / "*.txt")).options(num_threads=1))
    assert any("2 files, 14 bytes" in text for text in texts)
    assert any("num_threads=1" in text for text in texts)


def test_missing_files_are_shown_as_an_error():
    texts = cells(hr.csv("missing.csv").batch(2))
    assert any("NotFoundError" in text for text in texts)
    assert any(text.startswith("batch(2") for text in texts)


def test_endless_pipelines_are_marked():
    assert "endless" in cells(hr.arrays({"x": [1]}).epochs())


def test_parts_of_a_mix_are_listed():
    parts = {"a": hr.arrays({"x": [1]}), "b": hr.arrays({"x": [2]}).take(1)}
    assert "arrays > take" in cells(hr.mix(parts, seed=1))


@pytest.mark.parametrize("text", HOSTILE)
def test_names_cannot_become_markup(text):
    name = text.replace("\0", "")
    made = Elements(hr.arrays({name: [1]}).rename(**{name: "y"})._repr_html_())
    assert "script" not in made.tags
    assert "img" not in made.tags
