"""The examples in the docstrings of `headrace.keras` print the documented output."""

import doctest
import inspect

import numpy as np
import pytest

import headrace as hr


@pytest.mark.parametrize("name", hr.keras.__all__)
def test_docstring_examples_print_their_output(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(getattr(hr.keras, name))
    test = doctest.DocTestParser().get_doctest(text, {"hr": hr, "np": np}, name, None, 0)
    assert test.examples
    printed = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert result.failed == 0, "".join(printed)
