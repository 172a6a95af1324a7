"""`headrace.ops` lists the operations of native functions."""

import re
from pathlib import Path

import pytest

import headrace as hr

PAGE = Path(__file__).parents[2] / "docs/reference/operations.md"


def test_native_functions_page_lists_each_op_once():
    rows = re.findall(r"^\| [^|`]+ \| (`.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(hr.ops.__all__)
    assert dir(hr.ops) == sorted(hr.ops.__all__)
    with pytest.raises(
        AttributeError, match=r"'FIFOQueue'\. .* only graphs can use are in headrace.tf1"
    ):
        hr.ops.FIFOQueue  # noqa: B018
