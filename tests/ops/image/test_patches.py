"""Images cut into patches, compared with a model in NumPy."""

import math

import numpy as np
import pytest
from tests.ops.augment.models import computed

import headrace as hr
from headrace import ops
from headrace.core import errors
from headrace.testing import assert_resumes

SIZES = [
    (60, 90),
    (1, 1),
    (1, 200),
    (200, 1),
    (13, 700),
    (56, 56),
    (84, 112),
    (31, 405),
    (480, 640),
]


def new_size(height, width, factor, min_pixels, max_pixels):
    """The size after resizing, as in `smart_resize` of transformers."""
    rows, columns = (round(side / factor) * factor for side in (height, width))
    if rows * columns > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        return [
            max(factor, math.floor(side / shrink / factor) * factor) for side in (height, width)
        ]
    if rows * columns < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        return [math.ceil(side * grow / factor) * factor for side in (height, width)]
    return [rows, columns]


def cubic(x):
    x = abs(x)
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def resized(pixels, axis, size):
    """Resizes one axis as PyTorch does: with weights of 16 bits, and rounded to 8 bits."""
    old_size = pixels.shape[axis]
    if old_size == size:
        return pixels
    scale = old_size / size
    stretch = max(scale, 1)
    centers = (np.arange(size)[:, None] + 0.5) * scale
    positions = np.arange(old_size)
    begins = np.maximum(centers - 2 * stretch + 0.5, 0).astype(int)
    ends = (centers + 2 * stretch + 0.5).astype(int)
    is_near = (positions >= begins) & (positions < ends)
    weights = np.where(is_near, cubic((positions - centers + 0.5) / stretch), 0)
    weights /= weights.sum(1, keepdims=True)
    bits = max(bits for bits in range(23) if weights.max() * 2**bits + 0.5 < 2**15)
    whole = np.trunc(weights * 2**bits + np.copysign(0.5, weights)).astype(np.int64)
    sums = np.tensordot(whole, pixels.astype(np.int64), (1, axis)) + (1 << bits >> 1)
    return np.moveaxis(np.clip(sums >> bits, 0, 255), 0, axis)


def expected_patches(image, patch=14, merge=2, min_pixels=3136, max_pixels=1003520, temporal=2):
    height, width = new_size(*image.shape[:2], patch * merge, min_pixels, max_pixels)
    pixels = resized(resized(image, 1, width), 0, height)
    rows, columns = height // patch, width // patch
    blocks = pixels.reshape(rows // merge, merge, patch, columns // merge, merge, patch, 3)
    ordered = blocks.transpose(0, 3, 1, 4, 6, 2, 5)  # Block, place in it, channel, y, x.
    frames = np.repeat(ordered[:, :, :, :, :, None], temporal, 5)
    return frames.reshape(rows * columns, -1), [1, rows, columns]


def cut(image, **options):
    result = hr.native(lambda e: ops.patches(e["image"], **options)._asdict())({"image": image})
    return result["pixel_values"], result["grid"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"patch": 8, "merge": 3, "temporal": 1},
        {"patch": 16, "min_pixels": 1, "max_pixels": 9000},
        {"merge": 1, "min_pixels": 20_000, "max_pixels": 20_000, "temporal": 3},
    ],
)
def test_patches_match_the_model(photo, size, options):
    image = photo(*size)
    values, grid = cut(image, **options)
    expected, expected_grid = expected_patches(image, **options)
    assert grid.tolist() == expected_grid
    assert (grid.dtype, values.dtype, values.shape) == (np.int64, np.float32, expected.shape)
    assert np.array_equal(values, (expected / 255).astype(np.float32))


def test_random_sizes_match_the_model(is_nightly):
    rng = np.random.default_rng(None if is_nightly else 5)
    for _ in range(300 if is_nightly else 30):
        height, width = np.exp(rng.uniform(0, 6.5, 2)).astype(int)
        options = {"patch": int(rng.integers(1, 20)), "merge": int(rng.integers(1, 4))}
        image = rng.integers(0, 2, (height, width, 3), np.uint8) * 255
        if max(height, width) > 200 * min(height, width):
            continue
        values, _ = cut(image, **options)
        expected, _ = expected_patches(image, **options)
        assert np.array_equal(values, (expected / 255).astype(np.float32)), (height, width, options)


def test_mean_and_deviation_are_applied_per_channel(photo):
    image = photo(60, 90)
    mean, std = np.array([0.48, 0.45, 0.4]), np.array([0.27, 0.26, 0.28])
    values, _ = cut(image, mean=mean.tolist(), std=std.tolist())
    expected, _ = expected_patches(image)
    pixels = expected.reshape(len(expected), 3, -1) / 255
    normal = (pixels - mean[:, None]) / std[:, None]
    assert np.allclose(values, normal.reshape(expected.shape), atol=1e-6)
    half, _ = cut(image, mean=0.5, std=0.5)
    assert np.allclose(half, expected / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize(("format", "channels"), [("PNG", 3), ("JPEG", 3), ("JPEG", 1), ("PNG", 1)])
def test_files_are_decoded_first(photo, saved, format, channels):
    file = saved(photo(30, 40, channels), format)
    pixels = computed(lambda x: ops.decode_image(x, channels=3), x=file)
    for result, expected in zip(cut(file), cut(pixels), strict=True):
        assert np.array_equal(result, expected)


def test_patches_of_an_example_are_joined_and_the_pipeline_resumes(photo, saved):
    files = [saved(photo(40 + n, 90 - n), "PNG") for n in range(5)]
    examples = [{"n": n, "images": files[: n % 4]} for n in range(1, 13)]

    @hr.native
    def cut_each(example):
        cut = ops.each(lambda image: ops.patches(image, max_pixels=4000), example["images"])
        return {"n": example["n"], **cut._asdict()}

    pipe = hr.iterable(examples).map(cut_each)
    assert pipe.spec["pixel_values"] == hr.Spec(np.dtype(np.float32), (None, 1176))
    assert pipe.spec["grid"] == hr.Spec(np.dtype(np.int64), (None, 3))
    batches = list(pipe.batch(4, ragged="offsets"))
    for batch in batches:
        numbers = batch["n"] % 4
        assert np.diff(batch["grid.offsets"]).tolist() == numbers.tolist()
        lengths = batch["grid.values"].prod(1)
        ends = np.concatenate([[0], np.cumsum(lengths)])[batch["grid.offsets"]]
        assert batch["pixel_values.offsets"].tolist() == ends.tolist()
        expected = [cut(file, max_pixels=4000)[0] for n in numbers for file in files[:n]]
        assert np.array_equal(batch["pixel_values.values"], np.concatenate(expected))
    assert_resumes(pipe.batch(4, ragged="offsets"))


def test_wrong_images_are_rejected(photo):
    with pytest.raises(errors.InvalidArgumentError, match="1x201 pixels, so one side is 201 times"):
        cut(photo(1, 201))
    for channels in (1, 4):
        with pytest.raises(
            errors.InvalidArgumentError, match=rf"shape \[4,4,{channels}\].*channels=3"
        ):
            cut(np.zeros((4, 4, channels), np.uint8))
        known = hr.arrays({"image": np.zeros((1, 4, 4, channels), np.uint8)})
        with pytest.raises(ValueError, match=r"patches: the image has shape .*expected \(height"):
            known.map(hr.native(lambda e: ops.patches(e["image"])._asdict()))
    with pytest.raises(ValueError, match=r"one image \(height, width, channels\)"):
        cut(np.zeros((2, 4, 4, 3), np.uint8))
    with pytest.raises(TypeError, match="patches: the image has type float32, expected uint8"):
        cut(np.zeros((4, 4, 3), np.float32))
    grey = hr.native(lambda e: ops.patches(ops.decode_image(e["x"], channels=1))._asdict())
    png = hr.native(lambda e: {"y": ops.encode_png(e["x"])})({"x": photo(9, 9)})["y"]
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \[9,9,1\].*channels=3"):
        grey({"x": png})
    with pytest.raises(errors.InvalidArgumentError, match="Unable to decode bytes"):
        cut(b"nothing")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"patch": 0}, ValueError, "patch is 0, expected a positive integer"),
        ({"merge": -1}, ValueError, "merge is -1, expected a positive integer"),
        ({"temporal": 0}, ValueError, "temporal is 0, expected a positive integer"),
        ({"patch": 1.5}, TypeError, "Expected int for argument 'patch'"),
        ({"min_pixels": 9, "max_pixels": 8}, ValueError, "min_pixels is 9, but max_pixels is only"),
        ({"mean": [1, 2]}, ValueError, "mean has 2 values, expected one, or one for each"),
        ({"std": 0}, ValueError, "a standard deviation cannot be 0"),
        ({"mean": "x"}, ValueError, "mean is 'x', expected a number"),
    ],
)
def test_wrong_arguments_are_rejected(photo, options, error, text):
    with pytest.raises(error, match=text):
        cut(photo(4, 4), **options)
