import numpy as np
import pytest
from tests.ops.augment.models import computed, drawn, region

import headrace as hr
from headrace import ops
from headrace.ops.augment.arguments import LAYOUTS
from headrace.ops.augment.random_erasing import _erased


def erased(image, draws, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=(0,), layout="HWC"):
    attrs = {"p": 0.5, "scale": list(scale), "ratio": list(ratio), "value": list(value)}
    attrs |= {"axes": list(LAYOUTS[layout])}
    return computed(lambda x: _erased(x, np.float32(draws), attrs), x=image)


def model(image, draws, scale, ratio, value):
    # The ratio is the height divided by the width.
    box = region(*image.shape[1::-1], scale, ratio, [*draws[1:21], draws[22], draws[21]])
    result = image.copy()
    if draws[0] < 0.5 and box is not None:
        x, y, width, height = box
        result[y : y + height, x : x + width] = value
    return result


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_rectangle_is_filled(photo, seed, dtype):
    image = photo().astype(dtype)
    draws = np.random.default_rng(seed).random(23, np.float32)
    expected = model(image, draws, (0.02, 0.33), (0.3, 3.3), (7, 8, 9))
    assert np.array_equal(erased(image, draws, value=(7, 8, 9)), expected)
    in_front = np.ascontiguousarray(image.transpose(2, 0, 1))
    result = erased(in_front, draws, value=(7, 8, 9), layout="CHW")
    assert np.array_equal(result.transpose(1, 2, 0), expected)


def test_image_is_unchanged_if_no_rectangle_fits(photo):
    image = photo()
    draws = np.zeros(23, np.float32)
    assert np.array_equal(erased(image, draws, scale=(1, 1), ratio=(1, 1)), image)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_noise_is_normal_and_fills_the_same_rectangle(layout):
    image = np.full((40, 50, 3), 9, np.float32)
    image = image if layout == "HWC" else np.ascontiguousarray(image.transpose(2, 0, 1))
    draws = np.random.default_rng(0).random(25, np.float32)
    draws[0] = 0
    options = {"scale": (0.5, 0.5), "ratio": (1, 1), "layout": layout}
    result = erased(image, draws, value=(), **options)
    filled = erased(image, draws[:23], value=(1,), **options) == 1
    assert np.array_equal(result != 9, filled)
    noise = result[filled]
    assert noise.size > 2500
    assert abs(noise.mean()) < 0.1
    assert abs(noise.std() - 1) < 0.1
    assert len(np.unique(noise)) > 0.99 * noise.size
    assert np.array_equal(erased(image, draws, value=(), **options), result)
    draws[24] += 0.01
    assert not np.array_equal(erased(image, draws, value=(), **options), result)


def test_noise_differs_between_images():
    @hr.native
    def change(example):
        return {"x": ops.random_erasing(example["x"], 1, value="random")}

    pipe = hr.arrays({"x": np.zeros((4, 20, 20, 3), np.float32)}).map(change, seed=3)
    first, second = ([example["x"] for example in pipe] for _ in range(2))
    assert np.array_equal(first, second)
    assert len({image.tobytes() for image in first}) == 4


def test_noise_for_integer_images_is_rejected(photo):
    with pytest.raises(
        TypeError, match=r"requires a float32 image. Call random_erasing after normalize"
    ):
        drawn(lambda x: ops.random_erasing(x, value="random"), x=photo())


def test_wrong_layout_is_an_error(photo):
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"expected one image \(channels, heig"
    ):
        erased(photo(), np.zeros(23), layout="CHW")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 2}, "random_erasing: p is 2, expected a number from 0 to 1."),
        ({"scale": (0, 2)}, "scale is .0, 2., expected two numbers from 0 to 1"),
        ({"ratio": (0, 2)}, "ratio is .0, 2., expected two positive numbers"),
        ({"value": "noise"}, "value is 'noise', expected a number, or one for each channel"),
        ({"value": 0.5}, "value is 0.5, expected whole numbers for uint8"),
        ({"layout": "NHWC"}, "layout is 'NHWC', expected 'HWC' or 'CHW'"),
    ],
)
def test_invalid_arguments_are_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawn(lambda x: ops.random_erasing(x, **arguments), x=photo())
