import io

import numpy as np
import pytest
from PIL import Image
from tests.ops.augment.models import computed, drawn, region, resized

import headrace as hr
from headrace import ops
from headrace.ops.image.resized_crop import _cropped

SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)


def cropped(image, draws, size, scale=SCALE, ratio=RATIO, channels=0):
    attrs = {"height": size[0], "width": size[1], "scale": list(scale), "ratio": list(ratio)}
    attrs |= {"channels": channels}
    return computed(lambda x: _cropped(x, np.float32(draws), attrs).moved, x=image)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [(8, 8), (5, 30), (64, 40)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_crop_is_resized(photo, seed, size, channels):
    image = photo(37, 50, channels)
    draws = np.random.default_rng(seed).random(22, np.float32)
    y, x, height, width = region(37, 50, SCALE, RATIO, draws)
    expected = resized(image[y : y + height, x : x + width], *size)
    result = cropped(image, draws, size)
    assert result.shape == (*size, channels)
    assert abs(result - expected).max() <= 0.51


@pytest.mark.parametrize("shape", [(20, 90), (90, 20), (40, 44)])
def test_center_is_cropped_if_no_region_fits(photo, shape):
    image = photo(*shape)
    # Ten times the whole area, in a different shape than the image's.
    draws = np.ones(22, np.float32) - np.float32(1e-7)
    height, width = shape
    new_height, new_width = min(height, round(width / 0.75)), min(width, round(height * 4 / 3))
    y, x = (height - new_height) // 2, (width - new_width) // 2
    expected = resized(image[y : y + new_height, x : x + new_width], 7, 9)
    assert abs(cropped(image, draws, (7, 9), scale=(1, 1)) - expected).max() <= 0.51


@pytest.mark.parametrize("options", [{"quality": 90}, {"quality": 60, "progressive": True}])
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_partially_decoded_jpeg_matches_cropping_the_whole_image(
    photo, saved, options, subsampling
):
    file = saved(photo(83, 117), "JPEG", subsampling=subsampling, **options)
    full = computed(ops.decode_image, contents=file)
    for seed in range(25):
        draws = np.random.default_rng(seed).random(22, np.float32)
        result = cropped(file, draws, (31, 23), channels=3)
        assert np.array_equal(result, cropped(full, draws, (31, 23)))


@pytest.mark.parametrize("format", ["PNG", "GIF", "BMP"])
def test_other_formats_are_decoded_first(photo, saved, format):
    file = saved(photo(30, 20), format)
    full = computed(lambda x: ops.decode_image(x, expand_animations=False), x=file)
    draws = np.random.default_rng(3).random(22, np.float32)
    assert np.array_equal(cropped(file, draws, (9, 9), channels=3), cropped(full, draws, (9, 9)))


def test_grey_files_become_rgb_unless_channels_is_set(photo, saved):
    file = saved(photo(30, 20, 1), "JPEG")
    for channels, expected in ((None, 3), (3, 3), (1, 1), (0, 1)):
        crop = hr.native(lambda e: {"y": ops.random_resized_crop(e["x"], 8, channels=channels)})  # noqa: B023
        rows = hr.arrays({"x": np.array([file], object)}).map(crop, seed=1)
        assert next(iter(rows))["y"].shape == (8, 8, expected)
        assert rows.spec["y"].shape == (
            8,
            8,
            channels if channels else (3 if channels is None else None),
        )


def test_error_for_a_damaged_file_names_its_record(photo, saved):
    files = np.array([saved(photo(30, 20), "JPEG")[:200], b"nothing"], object)
    crop = hr.native(lambda e: {"y": ops.random_resized_crop(e["x"], 8)})
    for file, message in zip(files, ("Invalid JPEG data", "Unable to decode bytes"), strict=True):
        with pytest.raises(hr.errors.InvalidArgumentError, match=message):
            list(hr.arrays({"x": np.array([file], object)}).map(crop, seed=1))


def test_draws_are_the_same_for_any_number_of_threads_and_after_a_resume(photo, saved):
    files = np.array([saved(photo(40 + n, 50), "JPEG") for n in range(24)], object)
    crop = hr.native(lambda e: {"y": ops.random_resized_crop(e["x"], 8), "n": e["n"]})
    train = hr.arrays({"x": files, "n": np.arange(24)}).shuffle(seed=2).map(crop, seed=1).batch(4)
    one = list(train.options(num_threads=1).epoch(0))
    four = train.options(num_threads=4).epoch(0)
    next(four)
    state = four.state()
    for expected, again in zip(one[1:], train.resume(state), strict=False):
        assert np.array_equal(expected["y"], again["y"])
        assert np.array_equal(expected["n"], again["n"])
    assert len({batch["y"].tobytes() for batch in one}) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "random_resized_crop: size is 0, expected a positive integer"),
        (
            {"size": 8, "scale": (0, 1)},
            "scale is .0, 1., expected two positive numbers of at most 1",
        ),
        ({"size": 8, "ratio": (2, 1)}, "ratio is .2, 1., expected two positive numbers, the small"),
        ({"size": 8, "channels": 3}, "channels is 3, but the image is already decoded"),
    ],
)
def test_invalid_arguments_are_rejected(photo, arguments, message):
    with pytest.raises(ValueError, match=message):
        drawn(lambda x: ops.random_resized_crop(x, **arguments), x=photo(9, 9))


def test_photos_with_an_orientation_are_cropped_as_stored(photo):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Image.fromarray(photo(30, 20)).save(file, "JPEG", exif=exif)
    draws = np.zeros(22)
    full = computed(ops.decode_image, contents=file.getvalue())
    result = cropped(file.getvalue(), draws, (9, 9), channels=3)
    assert np.array_equal(result, cropped(full, draws, (9, 9)))
