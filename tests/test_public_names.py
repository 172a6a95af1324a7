"""`dir(headrace)` lists all public names, and a wrong name is an error."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr


def test_dir_lists_exactly_the_public_names():
    assert dir(hr) == sorted(set(hr.__all__))
    assert {"Pipeline", "arrays", "text_lines", "tfrecords"} <= set(dir(hr))
    assert {"errors", "ops", "records", "testing"} <= set(dir(hr))
    for name in dir(hr):
        assert getattr(hr, name) is not None


def test_pipeline_names_load_from_the_modules_imported_for_type_checking():
    tree = ast.parse(Path(hr.pipeline.__file__).read_text())
    imported = {
        alias.name: statement.module.removeprefix("headrace.pipeline.")
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom) and statement.module.startswith("headrace.")
        for alias in statement.names
    }
    assert imported == hr.pipeline._HOMES
    assert dir(hr.pipeline) == sorted(imported)
    assert all(getattr(hr.pipeline, name) is not None for name in imported)


def test_error_for_an_unknown_name_mentions_dir():
    with pytest.raises(AttributeError, match=r"no attribute 'bogus'. `dir\(headrace\)` lists"):
        hr.bogus  # noqa: B018


def test_names_are_loaded_on_first_use():
    program = (
        "import sys, headrace as hr\n"
        "def loaded():\n"
        "    return sorted(name for name in sys.modules if name.startswith('headrace.'))\n"
        "assert loaded() == [], loaded()\n"
        "dir(hr)\n"
        "assert loaded() == [], loaded()\n"
        "hr.errors\n"
        "expected = ['core', 'core.errors', 'core.repr_prefix', 'errors']\n"
        "assert loaded() == [f'headrace.{name}' for name in expected], loaded()\n"
        "hr.Pipeline\n"
        "assert 'headrace.tf1' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
