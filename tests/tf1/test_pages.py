"""The examples of the pages about TensorFlow 1 run unchanged."""

from pathlib import Path

import pytest
from tests.page_programs import check_program, programs_of

PAGES = sorted((Path(__file__).parents[2] / "docs/tf1").glob("*.md"))


@pytest.mark.parametrize("program", programs_of(PAGES))
def test_page_example_runs(program, tmp_path):
    check_program(program, tmp_path)
