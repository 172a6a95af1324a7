"""Changes of images with 16 bits, floats and any number of channels."""

from functools import partial

import numpy as np
import pytest
from tests.ops.augment.models import computed, drawn

import headrace as hr
from headrace import ops
from headrace.ops.augment.random_erasing import _erased
from headrace.ops.image.resized_crop import _cropped

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


@pytest.mark.parametrize("channels", CHANNELS)
def test_crops_are_resized_in_every_type(channels):
    draws = np.full(22, 0.4, np.float32)
    attrs = {"height": 9, "width": 12, "scale": [0.3, 0.9], "ratio": [0.7, 1.4], "channels": 0}
    wide, floats = (
        computed(lambda x: _cropped(x, draws, attrs).moved, x=image_of(channels, dtype))
        for dtype in TYPES
    )
    assert (wide.dtype, floats.dtype) == (np.uint16, np.float32)
    assert np.array_equal(wide, np.floor(floats + np.float32(0.5)))
    narrow = computed(
        lambda x: _cropped(x, draws, attrs).moved, x=image_of(channels, "uint8", most=255)
    )
    same = computed(
        lambda x: _cropped(x, draws, attrs).moved, x=image_of(channels, "uint16", most=255)
    )
    assert np.array_equal(narrow, same)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: ops.affine(x, 12.0, [3, -2], 1.2, [4.0, 2.0], fill=7),
        lambda x: ops.affine(x, 12.0, [3, -2], 1.2, [4.0, 2.0], "bilinear"),
        lambda x: ops.affine(x, 12.0, [3, -2], 0.7, [4.0, 2.0], "bilinear", fill=7),
        lambda x: ops.perspective(
            x, [[0, 0], [33, 0], [33, 20], [0, 20]], [[2, 1], [30, 3], [33, 20], [1, 17]]
        ),
        lambda x: ops.letterbox(x, (30, 40), fill=7),
        lambda x: ops.random_zoom_out(x, fill=7, p=1.0),
        lambda x: ops.random_resized_crop(x, 11),
        lambda x: ops.resize(x, [9, 11], boxes=np.zeros((1, 4), np.float32)).image,
        lambda x: ops.resize_with_pad(x, 30, 31, boxes=np.zeros((1, 4), np.float32)).image,
        lambda x: ops.random_iou_crop(x, boxes=np.array([[2, 3, 30, 19]], np.float32)).image,
    ],
    ids=[
        *("affine", "affine bilinear", "affine with fill", "perspective", "letterbox"),
        *("zoom out", "resized crop", "resize", "resize with pad", "iou crop"),
    ],
)
@pytest.mark.parametrize("channels", CHANNELS)
def test_small_16_bit_values_change_like_bytes(change, channels):
    narrow = drawn(change, x=image_of(channels, "uint8", most=255))
    wide = drawn(change, x=image_of(channels, "uint16", most=255))
    assert (narrow.dtype, wide.dtype) == (np.uint8, np.uint16)
    assert np.array_equal(narrow, wide)


def test_erased_parts_have_the_fill_value():
    draws = np.full(23, 0.3, np.float32)
    attrs = {"p": 1.0, "scale": [0.2, 0.3], "ratio": [0.5, 2.0], "value": [60_000.0]}
    image = image_of(4, "uint16", most=255)
    erased = computed(lambda x: _erased(x, draws, {**attrs, "axes": [0, 1, 2]}), x=image)
    assert erased.dtype == np.uint16
    assert set(np.unique(erased[erased != image])) == {60_000}


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_pixels_are_normalized(channels, layout):
    means, deviations = np.linspace(0.2, 0.6, channels), np.linspace(0.1, 0.3, channels)
    for dtype, most in (("uint8", 255), ("uint16", 65_535), ("float32", 1)):
        image = image_of(channels, dtype, most=max(most, 3))
        result = computed(lambda x: ops.normalize(x, [*means], [*deviations], layout), x=image)
        expected = (image / (most if most > 1 else 1) - means) / deviations
        expected = expected.transpose(2, 0, 1) if layout == "CHW" else expected
        assert np.abs(result - expected).max() < 1e-5
        assert result.dtype == np.float32


def test_margin_grey_depends_on_the_type():
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
def test_unsupported_types_and_channels_are_rejected_before_the_first_batch(name):
    files = hr.arrays({"x": np.array([b"no image"], object)})
    wide, banded = decoding(NOT_WIDE[name], dtype="uint16"), decoding(NOT_WIDE[name], channels=5)
    with pytest.raises(
        TypeError, match=f"{name}: the image has type uint16, expected uint8. Convert it with conv"
    ):
        files.map(wide, seed=1)
    if name != "gaussian_blur":
        with pytest.raises(ValueError, match=rf"{name}: the image has .*5.*, expected"):
            files.map(banded, seed=1)


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
        (
            lambda x: ops.affine(x, 0.0, [0, 0], 1.0, 0.0, fill=[1, 7e4]),
            r"fill is \[1, 70000\], expected a number from 0 to 65535 for uint16",
        ),
        (lambda x: ops.random_erasing(x, value=7e4), "value is 70000, expected a number from 0 to"),
        (
            lambda x: ops.random_erasing(x, value=0.5),
            "value is 0.5, expected whole numbers for uin",
        ),
    ],
)
def test_values_that_do_not_fit_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        drawn(change, x=image_of(2, "uint16"))


def test_operations_that_limit_the_channels_name_them():
    with pytest.raises(ValueError, match="random_erasing: the image has 5 channels in the layout"):
        drawn(ops.random_erasing, image=image_of(5, "uint16"))
    with pytest.raises(ValueError, match="affine: fill has 2 numbers, but the image has 5 channe"):
        computed(
            lambda x: ops.affine(x, 0.0, [0, 0], 1.0, 0.0, fill=[1, 2]), x=image_of(5, "uint16")
        )
    with pytest.raises(TypeError, match="value='random' fills with normally distributed noise"):
        drawn(lambda x: ops.random_erasing(x, value="random"), x=image_of(1, "uint16"))
