"""`dir(headrace)` shows what there is, and a wrong name says so."""

import subprocess
import sys

import pytest

import headrace as hr


def test_dir_lists_what_there_is_and_nothing_else():
    assert dir(hr) == sorted(set(hr.__all__))
    assert {"Graph", "Session", "Coordinator", "QueueRunner"} <= set(dir(hr))
    assert {"Pipeline", "arrays", "text_lines", "tfrecords"} <= set(dir(hr))
    assert {"errors", "ops", "queues", "records", "gfile"} <= set(dir(hr))
    for name in dir(hr):
        assert getattr(hr, name) is not None


def test_a_wrong_name_says_what_there_is():
    with pytest.raises(
        AttributeError, match=r"no attribute 'bogus', expected one of Batches, .*, ops, "
    ):
        hr.bogus  # noqa: B018


def test_a_name_is_loaded_when_it_is_first_used():
    program = (
        "import sys, headrace as hr\n"
        "def loaded():\n"
        "    return sorted(name for name in sys.modules if name.startswith('headrace.'))\n"
        "assert loaded() == [], loaded()\n"
        "dir(hr)\n"
        "assert loaded() == [], loaded()\n"
        "hr.errors\n"
        "assert loaded() == ['headrace.display', 'headrace.errors'], loaded()\n"
        "hr.Graph\n"
        "assert 'headrace.tf1' not in sys.modules\n"
        "assert hr.tf1.Graph is hr.Graph\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
