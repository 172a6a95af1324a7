import numpy as np
import pytest
from tests.ops.augment.models import drawn

import headrace as hr
from headrace import ops


def test_probability_0_never_flips_and_1_always_flips(photo):
    image = photo()
    assert np.array_equal(
        drawn(lambda x: ops.random_horizontal_flip(x, 1), x=image), image[:, ::-1]
    )
    assert np.array_equal(drawn(lambda x: ops.random_horizontal_flip(x, 0), x=image), image)


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_fraction_of_flips_matches_the_probability(p):
    images = np.tile(np.uint8([0, 1])[None, None, :, None], (4000, 1, 1, 1))
    flip = hr.native(lambda e: {"x": ops.random_horizontal_flip(e["x"], p)})
    [batch] = hr.arrays({"x": images}).map(flip, seed=5).batch(4000)
    assert abs(batch["x"][:, 0, 0, 0].mean() - p) < 0.03


def test_batch_is_rejected(photo):
    with pytest.raises(ValueError, match=r"Call .* on each image, before batch"):
        drawn(ops.random_horizontal_flip, image=photo()[None])
