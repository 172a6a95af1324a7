"""Files that Pillow writes with random options have the pixels that Pillow reads."""

import pytest
from tests.ops.image.written_images import FORMATS, failures

FILES = 200


@pytest.mark.parametrize("format", FORMATS)
def test_pixels_match_pillow(format):
    assert failures(format, range(FILES)) == []
