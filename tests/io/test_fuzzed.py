"""Runs each Python parser on the inputs that the fuzzers kept.

`cargo test` does the same for the parsers of the engine. See fuzz/README.md.
"""

from pathlib import Path

import pytest
from fuzz.python.targets import TARGETS

CORPORA = Path(__file__).parents[2] / "fuzz" / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_every_saved_fuzz_input_is_parsed_or_rejected(name):
    files = sorted((CORPORA / name).iterdir())
    assert len(files) >= 2
    for file in files:
        TARGETS[name](file.read_bytes())
