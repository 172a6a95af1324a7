import numpy as np
import pytest
from tests.ops.augment.models import computed, drawn

import headrace as hr
from headrace import ops


def model(image, kernel_size, sigma):
    def weights(size):
        positions = np.arange(size) - size // 2
        values = np.exp(-((positions / sigma) ** 2) / 2)
        return values / values.sum()

    across, down = kernel_size
    wide = np.pad(image, [(down // 2,) * 2, (across // 2,) * 2, (0, 0)], "reflect")
    rows = sum(weight * wide[:, x : x + image.shape[1]] for x, weight in enumerate(weights(across)))
    return np.rint(sum(w * rows[y : y + len(image)] for y, w in enumerate(weights(down))))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize(
    ("kernel_size", "sigma"), [((3, 3), 0.1), ((5, 9), 1.0), ((23, 1), 2.0), ((1, 1), 5.0)]
)
def test_pixels_are_weighted_by_a_gaussian(photo, channels, kernel_size, sigma):
    image = photo(channels=channels)
    result = computed(lambda x: ops.gaussian_blur(x, kernel_size, sigma), x=image)
    assert abs(result - model(image, kernel_size, sigma)).max() <= 1
    assert (result == model(image, kernel_size, sigma)).mean() > 0.99


def test_image_smaller_than_the_kernel_is_an_error(photo):
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="gaussian_blur: the image has 4x9 pix"
    ):
        drawn(lambda x: ops.gaussian_blur(x, 9), x=photo(4, 9))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4,), "kernel_size is 4, expected a positive odd integer"),
        (((3, 4),), "kernel_size is .3, 4., expected a positive odd integer"),
        ((3, 0), "sigma is .*, expected two positive numbers"),
        ((3, (2, 1)), "sigma is .2, 1., expected two positive numbers, the smaller one first"),
    ],
)
def test_invalid_arguments_are_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawn(lambda x: ops.gaussian_blur(x, *arguments), x=photo())
