import numpy as np
import pytest
from tests.ops.augment.models import drawn, greys

from headrace import ops


def test_image_becomes_grey_and_keeps_its_channel_count(photo):
    image = photo()
    result = drawn(lambda x: ops.random_grayscale(x, 1), x=image)
    assert abs(result - greys(image)[..., None]).max() <= 1
    assert np.array_equal(drawn(lambda x: ops.random_grayscale(x, 0), x=image), image)
    grey = photo(channels=1)
    assert np.array_equal(drawn(lambda x: ops.random_grayscale(x, 1), x=grey), grey)


def test_invalid_probability_is_rejected(photo):
    with pytest.raises(ValueError, match=r"random_grayscale: p is -0.1, expected a number from 0"):
        drawn(lambda x: ops.random_grayscale(x, -0.1), x=photo())
