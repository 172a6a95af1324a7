import math

import numpy as np
import pytest
from tests.ops.augment.models import (
    blended,
    computed,
    contrasted,
    drawn,
    equalized,
    saturated,
    sharpened,
    stretched,
    warped,
)

import headrace as hr
from headrace import ops
from headrace.ops.augment.policies import _augmented

CHANGES = (
    *("identity", "shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness"),
    *("color", "contrast", "sharpness", "posterize", "solarize", "autocontrast", "equalize"),
)
OF_COLOURS = {
    "brightness": lambda image, strength: blended(image, 0, 1 + strength),
    "color": lambda image, strength: saturated(image, 1 + strength),
    "contrast": lambda image, strength: contrasted(image, 1 + strength),
    "sharpness": lambda image, strength: sharpened(image, 1 + strength),
    "posterize": lambda image, strength: image & (256 - 2 ** (8 - int(strength))),
    "solarize": lambda image, strength: np.where(image >= 255 * strength, 255 - image, image),
    "autocontrast": lambda image, strength: stretched(image),
    "equalize": lambda image, strength: equalized(image),
    "identity": lambda image, strength: image,
}
NARROW = dict.fromkeys(["shear_x", "shear_y"], 0.3) | {"rotate": 30}
NARROW |= dict.fromkeys(["brightness", "color", "contrast", "sharpness"], 0.9)
WIDE = dict.fromkeys(["shear_x", "shear_y"], 0.99) | {"rotate": 135}
WIDE |= dict.fromkeys(["translate_x", "translate_y"], 32)
WIDE |= dict.fromkeys(["brightness", "color", "contrast", "sharpness"], 0.99)


def draw(change, is_negative):
    return [(CHANGES.index(change) + 0.5) / 14, 0.25 if is_negative else 0.75]


def rand_augment(image, draws, magnitude=9, interpolation="nearest", fill=()):
    attrs = {"magnitude": magnitude, "num_magnitude_bins": 31}
    attrs |= {"interpolation": interpolation, "fill": list(fill)}
    return computed(lambda x: _augmented("RandAugment", x, np.float32(draws), attrs), x=image)


def trivial_augment(image, draws, fill=()):
    attrs = {"num_magnitude_bins": 31, "interpolation": "nearest", "fill": list(fill)}
    return computed(lambda x: _augmented("TrivialAugment", x, np.float32(draws), attrs), x=image)


def strength(change, magnitude, image, ranges):
    if change == "posterize":
        return round(8 - magnitude * (4 if ranges is NARROW else 6) / 30)
    if change == "solarize":
        return 1 - magnitude / 30
    sides = {"translate_x": image.shape[1], "translate_y": image.shape[0]}
    side = sides.get(change, 0) * 150 / 331
    return ranges.get(change, side) * magnitude / 30


def matrix(change, strength, image):
    height, width = image.shape[:2]
    turn = math.radians(strength)
    return {
        "shear_x": [[1, strength, strength * height / 2], [0, 1, 0]],
        "shear_y": [[1, 0, 0], [strength, 1, strength * width / 2]],
        "translate_x": [[1, 0, -int(strength)], [0, 1, 0]],
        "translate_y": [[1, 0, 0], [0, 1, -int(strength)]],
        "rotate": [
            [math.cos(turn), -math.sin(turn), 0],
            [math.sin(turn), math.cos(turn), 0],
        ],
    }[change]


def check(actual, image, change, amount, fill=0):
    if change in OF_COLOURS:
        difference = actual.astype(int) - OF_COLOURS[change](image, amount)
        assert abs(difference).max() <= 1
        assert (difference != 0).mean() < 0.25
        return
    expected, is_near = warped(image, matrix(change, amount, image), fill)
    assert np.array_equal(actual[~is_near], expected[~is_near])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_negative", [False, True])
@pytest.mark.parametrize("magnitude", [0, 9, 30])
def test_each_rand_augment_operation_applies_its_strength(photo, change, is_negative, magnitude):
    for channels in (1, 3):
        image = photo(channels=channels)
        amount = strength(change, magnitude, image, NARROW)
        if is_negative and change not in ("posterize", "solarize"):
            amount = -amount
        result = rand_augment(image, draw(change, is_negative), magnitude)
        check(result, image, change, amount)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("magnitude", [0, 7, 30])
def test_each_trivial_augment_operation_applies_its_strength(photo, change, magnitude):
    image = photo()
    result = trivial_augment(image, [*draw(change, False), (magnitude + 0.5) / 31], fill=[7])
    check(result, image, change, strength(change, magnitude, image, WIDE), fill=7)


def test_operations_are_applied_in_sequence(photo):
    image = photo()
    both = rand_augment(image, draw("translate_x", False) + draw("posterize", False), 30)
    one = rand_augment(image, draw("translate_x", False), 30)
    assert np.array_equal(both, one & 0xF0)


def test_bilinear_interpolation_weights_four_pixels(photo):
    image = photo()
    result = rand_augment(image, draw("rotate", False), 15, "bilinear")[10:-10, 15:-15]
    turn = math.radians(15)
    y, x = np.mgrid[:40, :56]
    x, y = x - 27.5, y - 19.5
    across = x * math.cos(turn) - y * math.sin(turn) + 27.5
    down = x * math.sin(turn) + y * math.cos(turn) + 19.5
    across, down = across[10:-10, 15:-15], down[10:-10, 15:-15]
    left, top = np.floor(across).astype(int), np.floor(down).astype(int)
    right_part, bottom_part = (across - left)[..., None], (down - top)[..., None]
    upper = image[top, left] * (1 - right_part) + image[top, left + 1] * right_part
    lower = image[top + 1, left] * (1 - right_part) + image[top + 1, left + 1] * right_part
    assert abs(result - (upper * (1 - bottom_part) + lower * bottom_part)).max() <= 0.51


def test_fill_with_a_wrong_number_of_channels_is_an_error(photo):
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="fill has 2 values and the image has 3"
    ):
        rand_augment(photo(), draw("rotate", False), fill=[1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_ops": -1}, "rand_augment: num_ops is -1, expected an integer of at least 0."),
        ({"magnitude": 31}, "magnitude is 31, expected an integer from 0 to 30."),
        ({"num_magnitude_bins": 1}, "num_magnitude_bins is 1, expected an integer of at least 2."),
        ({"interpolation": "bicubic"}, "interpolation is 'bicubic', expected 'nearest' or 'bilin"),
        ({"fill": 300}, "fill is 300, expected numbers from 0 to 255."),
    ],
)
def test_invalid_arguments_are_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawn(lambda x: ops.rand_augment(x, **arguments), x=photo())
