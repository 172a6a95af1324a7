"""The directory, the environment and the module path of functions in worker processes."""

import os
import sys

import pytest
from tests.pipeline.workers import picklable
from tests.pipeline.workers.test_processes import TIMEOUT, rows

import headrace as hr

pytestmark = pytest.mark.timeout(TIMEOUT)


def texts(pipeline):
    return {tuple(example["surroundings"]) for example in pipeline}


@pytest.fixture
def changed(monkeypatch):
    """Changes the directory and the variable `HEADRACE_TEST` of this process."""

    def change(directory, value):
        directory.mkdir(exist_ok=True)
        (directory / "here.txt").write_text(directory.name)
        monkeypatch.chdir(directory)
        if value is None:
            monkeypatch.delenv("HEADRACE_TEST", raising=False)
        else:
            monkeypatch.setenv("HEADRACE_TEST", value)

    return change


@pytest.mark.parametrize("kind", ["map", "flat_map", "filter", "iterable"])
def test_each_start_updates_the_directory_and_environment(kind, tmp_path, changed):
    pipeline = {
        "map": lambda: rows(4).map(picklable.surroundings, num_processes=1),
        "flat_map": lambda: rows(4).flat_map(picklable.many_surroundings, num_processes=1),
        "filter": lambda: (
            rows(4).filter(picklable.has_variable, num_processes=1).map(picklable.surroundings)
        ),
        "iterable": lambda: hr.iterable(picklable.source_of_surroundings, num_processes=1),
    }[kind]()
    changed(tmp_path / "one", "first")
    assert texts(pipeline.epoch(0)) == {("one", "first")}
    changed(tmp_path / "two", "second")
    assert texts(pipeline.epoch(1)) == {("two", "second")}
    changed(tmp_path / "one", None)
    expected = set() if kind == "filter" else {("one", "missing")}
    assert texts(pipeline.epoch(2)) == expected


def test_deleted_directory_does_not_stop_workers(tmp_path, changed):
    changed(tmp_path / "gone", "first")
    (tmp_path / "gone" / "here.txt").unlink()
    os.rmdir(tmp_path / "gone")
    pipeline = rows(4).map(picklable.plus_one, num_processes=1)
    assert [example["n"] for example in pipeline] == [1, 2, 3, 4]


def test_module_on_a_later_added_path_can_be_imported(tmp_path, monkeypatch):
    assert len(list(rows(4).map(picklable.plus_one, num_processes=1))) == 4
    (tmp_path / "later_module.py").write_text("def f(example):\n    return {'n': 7}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import later_module  # noqa: PLC0415

    try:
        pipeline = rows(4).map(later_module.f, num_processes=1)
        assert [example["n"] for example in pipeline] == [7] * 4
    finally:
        del sys.modules["later_module"]
