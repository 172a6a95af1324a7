"""Files that soundfile writes with random options have the samples that it reads."""

import pytest
from tests.ops.audio.written_sounds import FORMATS, failures

pytest.importorskip("soundfile")

FILES = 200


@pytest.mark.parametrize("format", FORMATS)
def test_samples_match_soundfile(format):
    assert failures(format, range(FILES)) == []
