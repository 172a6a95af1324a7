"""Changes of images with 16 bits, floats and any number of channels."""

from functools import partial

import numpy as np
import pytest
from tests.ops.augment.models import computed, drawn

import headrace as hr
from headrace import ops

CHANNELS = [1, 2, 3, 5, 13]
TYPES = ["uint16", "float32"]


def image_of(channels, dtype, size=(21, 34), most=65_535):
    rng = np.random.default_rng(channels)
    values = rng.integers(0, most, (*size, channels), endpoint=True)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", CHANNELS)
def test_pixels_are_moved_as_in_numpy(channels, dtype):
    image = image_of(channels, dtype)
    zeros = np.zeros((40, 40, channels), dtype)
    zeros[3:24, 5:39] = image
    for change, expected in (
        (ops.flip_left_right, image[:, ::-1]),
        (ops.flip_up_down, image[::-1]),
        (lambda x: ops.random_horizontal_flip(x, 1.0), image[:, ::-1]),
        (ops.rot90, np.rot90(image)),
        (ops.transpose_image, image.transpose(1, 0, 2)),
        (lambda x: ops.crop_to_bounding_box(x, 2, 3, 10, 11), image[2:12, 3:14]),
        (lambda x: ops.center_crop(x, (11, 20)), image[5:16, 7:27]),
        (lambda x: ops.pad_to_bounding_box(x, 3, 5, 40, 40), zeros),
        (lambda x: ops.resize(x, [21, 34], "nearest"), image),
    ):
        result = drawn(lambda x, change=change: change(x), x=image)
        assert result.dtype == dtype
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("method", ["bilinear", "bicubic", "area", "lanczos3"])
@pytest.mark.parametrize("antialias", [False, True])
def test_integers_are_resized_like_floats(channels, method, antialias):
    for size in ([7, 50], [40, 9]):
        resized = [
            computed(
                partial(ops.resize, size=size, method=method, antialias=antialias), images=image
            )
            for image in (image_of(channels, "uint16"), image_of(channels, "float32"))
        ]
        assert resized[0].dtype == np.float32
        assert np.array_equal(*resized)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: ops.letterbox(x, (30, 40), fill=7),
        lambda x: ops.random_zoom_out(x, fill=7, p=1.0),
        lambda x: ops.resize(x, [9, 11], boxes=np.zeros((1, 4), np.float32)).image,
        lambda x: ops.resize_with_pad(x, 30, 31, boxes=np.zeros((1, 4), np.float32)).image,
        lambda x: ops.random_iou_crop(x, boxes=np.array([[2, 3, 30, 19]], np.float32)).image,
    ],
    ids=["letterbox", "zoom out", "resize", "resize with pad", "iou crop"],
)
@pytest.mark.parametrize("channels", CHANNELS)
def test_small_values_of_16_bits_change_like_bytes(change, channels):
    narrow = drawn(change, x=image_of(channels, "uint8", most=255))
    wide = drawn(change, x=image_of(channels, "uint16", most=255))
    assert (narrow.dtype, wide.dtype) == (np.uint8, np.uint16)
    assert np.array_equal(narrow, wide)


def test_grey_of_margins_depends_on_the_type():
    assert computed(lambda x: ops.letterbox(x, 9), x=image_of(1, "uint8", (2, 4)))[0, 0] == 114
    assert computed(lambda x: ops.letterbox(x, 9), x=image_of(1, "uint16", (2, 4)))[0, 0] == 29_298


NOT_WIDE = {
    "color_jitter": lambda x: ops.color_jitter(x, 0.4),
    "random_grayscale": ops.random_grayscale,
    "gaussian_blur": lambda x: ops.gaussian_blur(x, 3),
    "rand_augment": ops.rand_augment,
    "trivial_augment": ops.trivial_augment,
    "patches": lambda x: ops.patches(x).grid,
}


def decoding(change, **options):
    def function(example):
        image = ops.decode_image(example["x"], expand_animations=False, **options)
        return {"y": change(image)}

    return hr.native(function)


@pytest.mark.parametrize("name", NOT_WIDE)
def test_unsupported_types_and_channels_are_errors_before_the_first_batch(name):
    files = hr.arrays({"x": np.array([b"no image"], object)})
    wide = decoding(NOT_WIDE[name], dtype="uint16")
    with pytest.raises(
        TypeError, match=f"{name}: the image has type uint16, expected uint8. Convert it with conv"
    ):
        files.map(wide, seed=1)
    if name != "gaussian_blur":
        banded = hr.arrays({"x": np.zeros((1, 4, 4, 5), np.uint8)})
        with pytest.raises(ValueError, match=rf"{name}: the image has .*5.*, expected"):
            banded.map(hr.native(lambda e: {"y": NOT_WIDE[name](e["x"])}), seed=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x: ops.letterbox(x, 9, fill=65_536),
            "fill is 65536, expected a number from 0 to 6",
        ),
        (
            lambda x: ops.random_zoom_out(x, fill=-1),
            "fill is -1, expected a number from 0 to 65535",
        ),
    ],
)
def test_values_that_do_not_fit_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        drawn(change, x=image_of(2, "uint16"))


def test_operations_that_limit_the_channels_name_them():
    with pytest.raises(ValueError, match="random_erasing: the image has 5 channels in the layout"):
        drawn(ops.random_erasing, image=image_of(5, "float32"))
    with pytest.raises(ValueError, match="affine: fill has 2 numbers, but the image has 5 channe"):
        computed(
            lambda x: ops.affine(x, 0.0, [0, 0], 1.0, 0.0, fill=[1, 2]), x=image_of(5, "float32")
        )
