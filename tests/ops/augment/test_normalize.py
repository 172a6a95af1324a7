import numpy as np
import pytest
from tests.ops.augment.models import computed

import headrace as hr
from headrace import ops

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def test_bytes_are_divided_by_255_and_channels_come_first(photo):
    image = photo()
    expected = (image / 255 - MEAN) / STD
    result = computed(lambda x: ops.normalize(x, MEAN, STD), x=image)
    assert result.dtype == np.float32
    assert np.allclose(result, expected.transpose(2, 0, 1), rtol=0, atol=1e-6)
    result = computed(lambda x: ops.normalize(x, MEAN, STD, layout="HWC"), x=image)
    assert np.allclose(result, expected, rtol=0, atol=1e-6)


def test_floats_are_not_divided(photo):
    image = np.float32(photo()) / 255
    result = computed(lambda x: ops.normalize(x, MEAN, STD, layout="HWC"), x=image)
    assert np.allclose(result, (image - MEAN) / STD, rtol=0, atol=1e-6)


def test_one_number_applies_to_all_channels_and_batches_are_accepted(photo):
    batch = np.stack([photo(5, 4, 2)] * 3)
    result = computed(lambda x: ops.normalize(x, 0.5, 0.25), x=batch)
    assert np.allclose(result, (batch.transpose(0, 3, 1, 2) / 255 - 0.5) / 0.25, atol=1e-6)


def test_rows_of_a_block_are_normalised_together():
    images = np.random.default_rng(0).integers(0, 256, (50, 6, 4, 3), np.uint8)
    function = hr.native(lambda e: {"y": ops.normalize(e["x"], MEAN, STD)})
    result = hr.arrays({"x": images}).map(function).batch(50)
    assert np.array_equal(next(iter(result))["y"], [function({"x": x})["y"] for x in images])


def test_wrong_number_of_channels_is_an_error(photo):
    with pytest.raises(ValueError, match="mean has 3 values, but the image has shape"):
        computed(lambda x: ops.normalize(x, MEAN, STD), x=photo(channels=1))
    grey = computed(ops.encode_png, image=photo(channels=1))
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"mean has 3 values .* Decode with cha"
    ):
        computed(lambda x: ops.normalize(ops.decode_image(x), MEAN, STD), x=grey)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((MEAN, 0), "std is 0, but a standard deviation cannot be 0"),
        ((MEAN, STD, "CWH"), "layout is 'CWH', expected 'HWC' or 'CHW'"),
        (((), STD), "mean is .., expected a number, or one for each channel"),
    ],
)
def test_invalid_arguments_are_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        computed(lambda x: ops.normalize(x, *arguments), x=photo())
