import colorsys

import numpy as np
import pytest
from tests.ops.augment.models import blended, computed, contrasted, drawn, saturated

from headrace import ops
from headrace.ops.augment.color_jitter import _jittered


def jittered(image, factors, keys=(0, 1, 2, 3)):
    factors, keys = np.float32(factors), np.float32(keys)
    return computed(lambda x: _jittered(x, factors, keys), x=image)


def turned(image, turn):
    def one(pixel):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel / 255)
        return colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)

    return (np.apply_along_axis(one, -1, image) * 255.999).astype(np.uint8)


def differ_by_one(actual, expected):
    return abs(actual.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("factor", [0, 0.3, 0.95, 1.4, 3])
def test_factors_change_brightness_contrast_and_saturation(photo, channels, factor):
    image = photo(channels=channels)
    factor = float(np.float32(factor))
    assert differ_by_one(jittered(image, (factor, 1, 1, 0)), blended(image, 0, factor))
    assert differ_by_one(jittered(image, (1, factor, 1, 0)), contrasted(image, factor))
    assert differ_by_one(jittered(image, (1, 1, factor, 0)), saturated(image, factor))


@pytest.mark.parametrize("turn", [-0.5, -0.2, 0.1, 0.4])
def test_hue_is_shifted(photo, turn):
    image = photo(12, 9)
    assert differ_by_one(jittered(image, (1, 1, 1, turn)), turned(image, float(np.float32(turn))))
    grey = image[..., :1]
    assert np.array_equal(jittered(grey, (1, 1, 1, turn)), grey)


def test_random_keys_determine_the_order_of_operations(photo):
    image = photo()
    expected = blended(contrasted(saturated(image, 0.5), 2), 0, 0.5)
    result = jittered(image, (0.5, 2, 0.5, 0), keys=(3, 2, 1, 0))
    assert abs(result.astype(int) - expected).max() <= 3


def test_image_is_unchanged_without_ranges(photo):
    image = photo()
    assert np.array_equal(drawn(ops.color_jitter, image=image), image)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"brightness": -1}, "color_jitter: brightness is -1, expected a number of at least 0"),
        (
            {"contrast": (2, 1)},
            "contrast is .2, 1., expected two numbers of at least 0, the smaller one",
        ),
        ({"saturation": (-1, 1)}, "saturation is .*, expected two numbers of at least 0"),
        ({"hue": 0.6}, "hue is .*, expected two numbers from -0.5 to 0.5"),
    ],
)
def test_invalid_range_is_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawn(lambda x: ops.color_jitter(x, **arguments), x=photo())


def test_floats_are_rejected(photo):
    with pytest.raises(
        TypeError, match=r"the image has type float32, expected uint8. Call color_jitter befo"
    ):
        drawn(lambda x: ops.color_jitter(x, 0.5), x=np.float32(photo()))
